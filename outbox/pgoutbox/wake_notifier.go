package pgoutbox

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// execer runs a statement; *pgx.Conn and *pgxpool.Pool are execers.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// RunNotifier notifies the relays of other processes of the commits that InTx and Wake announce
// in this one, until ctx ends; then it returns nil. Run it with the producers if relays run
// elsewhere and should notice at once; without it, they find the messages by polling.
//
// It only wakes relays: what it loses costs a relay at most one poll. NOTIFY takes a lock that
// all databases of the server share until its transaction has committed, so it must not be used
// in business transactions. Here it has its own connection, outside the pool, and there is at
// most one per Config.NotifyInterval. Errors are logged, and it connects again. See rule R5 and
// design 9.1.
func (o *Outbox) RunNotifier(ctx context.Context) error {
	n := notifier{ob: o, interval: o.cfg.NotifyInterval, rings: o.bell.listen(ctx), channel: channel(o.cfg.Schema, o.cfg.Table)}
	retry := retryWait{}
	for ctx.Err() == nil {
		if err := n.run(ctx, &retry); err != nil && ctx.Err() == nil {
			o.cfg.Logger.WarnContext(ctx, "relays of other processes are not notified", slog.Any("error", err))
			_ = wait.For(ctx, retry.next())
		}
	}
	return nil
}

// notifier passes rings on.
type notifier struct {
	ob       *Outbox
	interval time.Duration
	rings    <-chan struct{}
	channel  string
	owed     bool // a ring was received and not passed on yet
}

// run connects at the first ring and notifies until the first error.
func (n *notifier) run(ctx context.Context, retry *retryWait) error {
	var conn *pgx.Conn
	defer func() {
		if conn != nil {
			pglog.Close(ctx, conn)
		}
	}()
	for {
		if !n.owed {
			select {
			case <-n.rings:
				n.owed = true
			case <-ctx.Done():
				return nil
			}
		}
		if conn == nil {
			c, err := n.ob.connectAs(ctx, "leat notifier")
			if err != nil {
				return err
			}
			conn = c.Conn
		}
		if err := notify(ctx, conn, n.channel); err != nil {
			return err
		}
		n.owed = false
		retry.reset()
		_ = wait.For(ctx, n.interval)
	}
}

// retryWait is how long to wait before connecting again: it doubles up to 5 s.
type retryWait struct{ last time.Duration }

func (r *retryWait) next() time.Duration {
	r.last = min(max(2*r.last, 50*time.Millisecond), 5*time.Second)
	return r.last
}

func (r *retryWait) reset() { r.last = 0 }
