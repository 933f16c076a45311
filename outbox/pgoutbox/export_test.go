package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/outbox/driver"
)

// ForgetClock makes m forget what it knows of clocks and numbers, as if its process were new.
func (m *Maintenance) ForgetClock() { m.clock = clocks.Watch{} }

// Channel exports channel.
func Channel(schema, table string) string { return channel(schema, table) }

// Source is the type that Outbox.Source returns.
type Source = source

// ConnectOwn opens a connection as a relay of the source would.
func (s *Source) ConnectOwn(ctx context.Context) (*pgx.Conn, error) { return s.connect(ctx) }

// HistorySQL returns a statement of history by name.
func (o *Outbox) HistorySQL(name string) string {
	if name == "page" {
		return o.sql.historyPage
	}
	return o.sql.historyFromTime
}

// Ask runs a query on a connection of the application's, as ob does.
func Ask(ctx context.Context, ob *Outbox, sql string) pgx.Row { return ob.pool.QueryRow(ctx, sql) }

// IsJoined reports whether a session returns records from its tail.
func IsJoined(s driver.Session) bool { return s.(*session).Joined() }

// CheckTail returns why the server of s does not suit its tail.
func CheckTail(ctx context.Context, s *Source) error {
	t := &tail{log: &slotLog{source: s}, cfg: *s.cfg.Tail}
	return t.check(ctx, s.ob.pool)
}

// ByIndex is the statement that runs before that of Stats.
const ByIndex = byIndex

// IsSQL reports whether o was made by NewSQL.
func (o *Outbox) IsSQL() bool { return o.db != nil }

// WarnOfWaits makes o look after the given time which session holds the key that a call waits for.
func (o *Outbox) WarnOfWaits(after time.Duration) { o.waitWarning = after }

// HeldForRebase returns the error with which a rebase in tx is refused because of a lease.
func (o *Outbox) HeldForRebase(ctx context.Context, tx pgx.Tx, r RebaseRequest) error {
	b, err := o.newRebase(ctx, r)
	if err != nil {
		return err
	}
	return b.held(ctx, tx, nil)
}
