package sqloutbox

import (
	"context"
	"database/sql"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/wait"
)

const (
	// watchMin and watchMax bound the wait between two looks at what other processes have
	// committed. A look takes microseconds.
	watchMin = 2 * time.Millisecond
	watchMax = 10 * time.Millisecond
)

// watch rings c whenever a connection other than its own has committed, until ctx ends.
func (o *Outbox) watch(ctx context.Context, c chan struct{}) {
	idle := jitter.Backoff{Min: watchMin, Max: watchMax}
	var own sqlstore.Conn
	defer func() { own.Close() }()
	var seen int64
	for ctx.Err() == nil {
		if !own.IsOpen() && own.Open(ctx, o.log.Store) != nil {
			own.Close()
			_ = wait.For(ctx, time.Second) // until then the relay polls
			continue
		}
		var version int64
		err := own.Use(ctx, func(conn *sql.Conn) error {
			return conn.QueryRowContext(ctx, o.log.SQL["data_version"]).Scan(&version)
		})
		switch {
		case err != nil:
			own.Close()
		case version != seen:
			seen = version
			idle.Reset()
			ringOne(c)
		}
		_ = wait.For(ctx, idle.Next())
	}
}
