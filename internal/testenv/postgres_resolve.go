package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// resolvePostgres goes through the places where PostgreSQL may come from.
func resolvePostgres(ctx context.Context) (Service, error) {
	if s, ok, err := postgresFromEnvironment(ctx); ok || err != nil {
		return s, err
	}
	if s, ok := postgresRunning(ctx); ok {
		return s, nil
	}
	binaries, err := wantedPostgres(ctx, "")
	if err != nil {
		return Service{}, err
	}
	s, _, err := startPostgres(ctx, binaries, sharedSettings())

	return s, err
}

// postgresFromEnvironment uses the address that was given. One that cannot be
// reached is an error, never a reason to look elsewhere; one of another version
// than was asked for is passed over.
func postgresFromEnvironment(ctx context.Context) (Service, bool, error) {
	address := os.Getenv(EnvPostgres)
	if address == "" {
		return Service{}, false, nil
	}
	s, err := postgresAt(ctx, address, "address in "+EnvPostgres)
	if errors.Is(err, errOtherVersion) {
		return Service{}, false, nil
	}
	if err != nil {
		return Service{}, false, fmt.Errorf("%s: %w", EnvPostgres, err)
	}

	return s, true, nil
}

// postgresRunning uses the detached set, else a server on the standard port of
// this machine that lets us in and is fit for it.
func postgresRunning(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, KindPostgres); ok {
		if s, err := postgresAt(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	for _, user := range []string{"postgres", "postgres:postgres"} {
		address := "postgres://" + user + "@127.0.0.1:5432/postgres?sslmode=disable"
		if s, err := postgresAt(ctx, address, "already running on the standard port"); err == nil {
			return s, true
		}
	}

	return Service{}, false
}

// errOtherVersion is returned for a server of another version than was asked for.
var errOtherVersion = errors.New("testenv: another version was asked for")

// postgresAt describes the server at an address.
func postgresAt(ctx context.Context, address, origin string) (Service, error) {
	version, err := inspectPostgres(ctx, address)
	if err != nil {
		return Service{}, err
	}
	if want := os.Getenv(EnvPostgresVersion); want != "" && majorOf(version) != majorOf(want) {
		return Service{}, errOtherVersion
	}
	// What killed runs left on a server that outlives them. It can wait for another
	// run if it fails.
	_ = sweepDatabases(ctx, address)

	return Service{Kind: KindPostgres, Address: address, Version: version, Origin: origin, Real: true}, nil
}
