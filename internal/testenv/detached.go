package testenv

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNoDetachedSet is returned when no detached set is running.
var ErrNoDetachedSet = errors.New("testenv: no detached set is running")

// A detached set is a process that holds the services between runs and gives their addresses to clients
// over a socket in the user's cache directory. A socket that outlives its process does no harm:
// connections to it fail.
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

// listenDetached listens on the socket, unless a running set does.
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

// ServeDetached holds the services of env until [StopDetached] is called or ctx ends, and then closes env.
// It calls ready when clients can find the set.
func ServeDetached(ctx context.Context, env *Env, ready func()) error {
	listener, err := listenDetached(ctx)
	if err != nil {
		return errors.Join(err, env.Close())
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	ready()
	for {
		conn, err := listener.Accept()
		if err != nil { // ctx has ended
			return env.Close()
		}
		if answer(conn, env) {
			return errors.Join(listener.Close(), conn.Close())
		}
		_ = conn.Close()
	}
}

// answer answers one question and reports whether it was the request to stop.
func answer(conn net.Conn, env *Env) (last bool) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	question, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return false
	}
	reply := json.NewEncoder(conn)
	switch question {
	case askServices:
		_ = reply.Encode(env.Services())
	case askStop:
		failure := ""
		if err := env.Close(); err != nil {
			failure = err.Error()
		}
		_ = reply.Encode(failure)

		return true
	}

	return false
}

// leftover is one of our databases without connections.
type leftover struct {
	Name     string
	Template bool
	Comment  string
}

// stale reports whether l is so old that no run can still need it.
func (l leftover) stale() bool {
	if l.Template {
		made, err := strconv.ParseInt(l.Comment, 10, 64)

		return err == nil && time.Since(time.Unix(made, 0)) > templateKeep
	}
	if strings.HasPrefix(l.Name, templatePrefix) {
		return false // a template that is being made: the next run that needs it completes or replaces it
	}
	age, ok := nameAge(strings.TrimPrefix(l.Name, databasePrefix))

	return ok && age > sweepAge
}

// drop removes the database, but not if a run has connected to it. An error does no harm, since the next
// run tries again.
func (l leftover) drop(ctx context.Context, conn *pgx.Conn) {
	name := pgx.Identifier{l.Name}.Sanitize()
	if l.Template {
		_, _ = conn.Exec(ctx, `ALTER DATABASE `+name+` WITH IS_TEMPLATE false`)
	}
	_, _ = conn.Exec(ctx, `DROP DATABASE IF EXISTS `+name)
}
