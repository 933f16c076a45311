package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ErrNoDetachedSet is returned when no detached set is running.
var ErrNoDetachedSet = errors.New("testenv: no detached set is running")

// A detached set is a process that holds the services between runs and tells
// whoever asks, over a socket in the user's cache directory. The socket cannot
// outlive its process in a way that matters: nobody answers any more.
const (
	askServices = "services\n"
	askStop     = "stop\n"
)

func socketPath() (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}

	return filepath.Join(cache, "services.sock"), nil
}

// detached asks the detached set for a service.
func detached(ctx context.Context, kind Kind) (Service, bool) {
	services, err := Detached(ctx)
	if err != nil {
		return Service{}, false
	}
	for _, s := range services {
		if s.Kind == kind && s.Real {
			return s, true
		}
	}

	return Service{}, false
}

// Detached returns the services of the detached set. It returns
// [ErrNoDetachedSet] when there is none.
func Detached(ctx context.Context) ([]Service, error) {
	conn, err := ask(ctx, askServices)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()

	var services []Service
	if err := json.NewDecoder(conn).Decode(&services); err != nil {
		return nil, fmt.Errorf("testenv: detached set: %w", err)
	}

	return services, nil
}

// StopDetached stops the detached set and waits until its servers are gone. It
// returns [ErrNoDetachedSet] when there is none.
func StopDetached(ctx context.Context) error {
	conn, err := ask(ctx, askStop)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	var failure string
	if err := json.NewDecoder(conn).Decode(&failure); err != nil {
		return fmt.Errorf("testenv: detached set: %w", err)
	}
	if failure != "" {
		return fmt.Errorf("testenv: detached set: %s", failure)
	}

	return nil
}

// ask sends a question to the detached set.
func ask(ctx context.Context, question string) (net.Conn, error) {
	path, err := socketPath()
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDetachedSet, err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if _, err := conn.Write([]byte(question)); err != nil {
		return nil, errors.Join(fmt.Errorf("testenv: detached set: %w", err), conn.Close())
	}

	return conn, nil
}

// listenDetached takes the socket, unless a living set has it.
func listenDetached(ctx context.Context) (net.Listener, error) {
	if _, err := Detached(ctx); !errors.Is(err, ErrNoDetachedSet) {
		return nil, errors.Join(errors.New("testenv: a detached set is running"), err)
	}
	path, err := socketPath()
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("testenv: %w", err), listener.Close())
	}

	return listener, nil
}
