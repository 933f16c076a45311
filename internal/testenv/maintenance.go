package testenv

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
)

// maintenance are connections to a server's maintenance database, on which databases are
// made and dropped. They are kept: each would cost the server a process, twice a test.
type maintenance struct {
	none bool // keeps none

	mu   sync.Mutex
	idle []*pgx.Conn
}

// use calls do with a connection that nobody else has.
func (m *maintenance) use(ctx context.Context, address string, do func(conn *pgx.Conn) error) error {
	conn, err := m.take(ctx, address)
	if err != nil {
		return err
	}
	if err := do(conn); err != nil || m.none {
		return errors.Join(err, conn.Close(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, conn)

	return nil
}

func (m *maintenance) take(ctx context.Context, address string) (*pgx.Conn, error) {
	for {
		conn := m.pop()
		if conn == nil {
			return connectPostgres(ctx, address)
		}
		if conn.Ping(ctx) == nil {
			return conn, nil
		}
		_ = conn.Close(ctx) // a test may have cut it
	}
}

func (m *maintenance) pop() *pgx.Conn {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) == 0 {
		return nil
	}
	conn := m.idle[len(m.idle)-1]
	m.idle = m.idle[:len(m.idle)-1]

	return conn
}

// close ends the connections that are kept.
func (m *maintenance) close(ctx context.Context) error {
	var errs []error
	for conn := m.pop(); conn != nil; conn = m.pop() {
		errs = append(errs, conn.Close(ctx))
	}

	return errors.Join(errs...)
}
