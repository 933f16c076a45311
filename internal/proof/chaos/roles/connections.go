package roles

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox/pgoutbox"
)

// connections are those of the process to its database, to be cut all at once in the
// middle of whatever is done on them.
type connections struct {
	mu   sync.Mutex
	live map[net.Conn]struct{}
}

func newConnections() *connections { return &connections{live: map[net.Conn]struct{}{}} }

// connection is one of them.
type connection struct {
	net.Conn

	all *connections
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.all.mu.Lock()
	delete(c.all.live, c)
	c.all.mu.Unlock()
	return c.Conn.Close()
}

// dial is a pgconn.DialFunc.
func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial the database: %w", err)
	}
	one := &connection{Conn: conn, all: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[one] = struct{}{}
	return one, nil
}

// cut closes all.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.live {
		_ = conn.(*connection).Conn.Close() //nolint:forcetypeassert // dial puts nothing else in
		delete(c.live, conn)
	}
}

// pool opens the process's pool.
func (p *process) pool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(p.Database)
	if err != nil {
		return nil, fmt.Errorf("parse the database's URL: %w", err)
	}
	cfg.ConnConfig.DialFunc = p.connections.dial
	cfg.ConnConfig.RuntimeParams["application_name"] = p.Name
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the pool: %w", err)
	}
	return pool, nil
}

// openOutbox opens the pool and the outbox in its database.
func (p *process) openOutbox(ctx context.Context) (*pgxpool.Pool, *pgoutbox.Outbox, error) {
	pool, err := p.pool(ctx)
	if err != nil {
		return nil, nil, err
	}
	ob, err := pgoutbox.New(pool, pgoutbox.Config{Logger: p.log})
	if err != nil {
		pool.Close()
		return nil, nil, err
	}
	return pool, ob, nil
}
