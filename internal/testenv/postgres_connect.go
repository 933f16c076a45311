package testenv

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// connectTimeout bounds one attempt to reach a server.
const connectTimeout = 5 * time.Second

// inspectPostgres connects, checks that the server is fit for us, and returns its
// version.
func inspectPostgres(ctx context.Context, address string) (version string, err error) {
	conn, err := connectPostgres(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()

	var may, standby, old bool
	err = conn.QueryRow(ctx, `
		SELECT split_part(current_setting('server_version'), ' ', 1), rolsuper OR rolcreatedb,
			pg_is_in_recovery(), current_setting('server_version_num')::int / 10000 < $1
		FROM pg_roles WHERE rolname = current_user`, oldestPostgres).Scan(&version, &may, &standby, &old)
	if err != nil {
		return "", fmt.Errorf("testenv: inspect %s: %w", redact(address), err)
	}
	switch {
	case !may:
		err = fmt.Errorf("%w: the user of %s may not create databases", ErrUnavailable, redact(address))
	case standby:
		err = fmt.Errorf("%w: %s is a standby", ErrUnavailable, redact(address))
	case old:
		err = fmt.Errorf("%w: %s is PostgreSQL %s, need %d", ErrUnavailable, redact(address), version, oldestPostgres)
	}

	return version, err
}

func connectPostgres(ctx context.Context, address string) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()

	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("testenv: connect to %s: %w", redact(address), err)
	}

	return conn, nil
}

// withDatabase returns the address of another database on the same server.
func withDatabase(address, database string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme == "" {
		return "", fmt.Errorf("testenv: %s=%q is not a URL", EnvPostgres, redact(address))
	}
	u.Path = "/" + database

	return u.String(), nil
}

// majorOf returns the part of a version before the first dot.
func majorOf(version string) string {
	for i, r := range version {
		if r < '0' || r > '9' {
			return version[:i]
		}
	}

	return version
}
