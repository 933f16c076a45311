package sqloutbox

import (
	"context"
	"database/sql"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
)

// open begins the session of a lease that was taken.
func (s *Source) open(ctx context.Context, owner string, g groupRow) (driver.Session, error) {
	n := &session{source: s, owner: owner, epoch: g.epoch, read: g.at, settled: g.at, at: -1}
	err := n.reading.open(ctx, s.ob)
	if err == nil {
		err = n.writing.open(ctx, s.ob)
	}
	if err == nil && !s.ob.dialect.OneWriter {
		err = n.writing.use(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, s.ob.sql["needs_fence"]).Scan(&n.fence)
		})
	}
	if err != nil {
		n.reading.close()
		n.writing.close()
		return nil, err
	}
	return n, nil
}

const (
	// watchMin and watchMax are the waits between two looks at what other processes have
	// committed. A look takes microseconds.
	watchMin = 2 * time.Millisecond
	watchMax = 10 * time.Millisecond
)

// watch rings c whenever another connection than its own has committed, until ctx ends.
func (o *Outbox) watch(ctx context.Context, c chan struct{}) {
	idle := jitter.Backoff{Min: watchMin, Max: watchMax}
	var own line
	defer func() { own.close() }()
	var seen int64
	for ctx.Err() == nil {
		if own.conn == nil && own.open(ctx, o) != nil {
			own.close()
			_ = wait.For(ctx, time.Second) // the relay polls meanwhile
			continue
		}
		var version int64
		err := own.use(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, o.sql["data_version"]).Scan(&version)
		})
		switch {
		case err != nil:
			own.close()
		case version != seen:
			seen = version
			idle.Reset()
			ringOne(c)
		}
		_ = wait.For(ctx, idle.Next())
	}
}
