package testenv

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
)

// resolveMySQL goes through the places where a server of the family may come from.
func resolveMySQL(ctx context.Context, f mysqlFlavor) (Service, error) {
	if address := os.Getenv(f.env); address != "" {
		s, err := f.at(ctx, address, "address in "+f.env)
		if err != nil {
			return Service{}, fmt.Errorf("%s: %w", f.env, err)
		}

		return s, nil
	}
	if s, ok := f.running(ctx); ok {
		return s, nil
	}
	s, _, err := f.start(ctx, sharedMySQLSettings(), false)

	return s, err
}

// running uses the detached set, else a server on the standard port of this machine
// that lets us in.
func (f mysqlFlavor) running(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, f.kind); ok {
		if s, err := f.at(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	s, err := f.at(ctx, "mysql://root@127.0.0.1:3306/", "already running on the standard port")

	return s, err == nil
}

// at describes the server at an address. Whether a password is right is for the tests
// to see: they have a driver.
func (f mysqlFlavor) at(ctx context.Context, address, origin string) (Service, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "mysql" || u.User == nil || u.Port() == "" {
		return Service{}, fmt.Errorf("testenv: %q is not mysql://user:password@host:port/", redact(address))
	}
	version, err := f.inspect(ctx, u)
	if err != nil {
		return Service{}, fmt.Errorf("testenv: %s at %s: %w", f.name, redact(address), err)
	}

	return Service{Kind: f.kind, Address: address, Version: version, Origin: origin, Real: true}, nil
}

func (f mysqlFlavor) inspect(ctx context.Context, u *url.URL) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialMySQL(ctx, net.JoinHostPort(u.Hostname(), u.Port()))
	if err != nil {
		return "", err
	}
	defer conn.close()
	if isMariaDB(conn.version) != (f.kind == KindMariaDB) {
		return "", fmt.Errorf("%w: the server is %q", ErrUnavailable, conn.version)
	}
	if _, secret := u.User.Password(); !secret {
		err = conn.login(u.User.Username())
	}

	return plainMySQLVersion(conn.version), err
}
