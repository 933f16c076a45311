package pgoutbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/outbox/driver"
)

// ForgetClock has m forget what it knows of clocks and numbers, as a new process does.
func (m *Maintenance) ForgetClock() { m.clock = clocks.Watch{} }

// Channel is channel.
func Channel(schema, table string) string { return channel(schema, table) }

// Source is what Outbox.Source returns.
type Source = source

// ConnectOwn opens a connection as a relay of the source would.
func (s *Source) ConnectOwn(ctx context.Context) (*pgx.Conn, error) { return s.connect(ctx) }

// HistorySQL is a statement of history.
func (o *Outbox) HistorySQL(name string) string {
	if name == "page" {
		return o.sql.historyPage
	}
	return o.sql.historyFromTime
}

// Ask asks on a connection of the application that ob uses.
func Ask(ctx context.Context, ob *Outbox, sql string) pgx.Row { return ob.pool.QueryRow(ctx, sql) }

// IsJoined reports whether a session hands out what its tail brings.
func IsJoined(s driver.Session) bool { return s.(*session).Joined() }

// CheckTail returns why the server of s does not suit its tail.
func CheckTail(ctx context.Context, s *Source) error {
	t := &tail{log: &slotLog{source: s}, cfg: *s.cfg.Tail}
	return t.check(ctx, s.ob.pool)
}

// ByIndex is the statement before that of Stats.
const ByIndex = byIndex

// IsSQL reports whether NewSQL has made o.
func (o *Outbox) IsSQL() bool { return o.db != nil }

// WarnOfWaits makes o look soon who has the key that a call waits for.
func (o *Outbox) WarnOfWaits(after time.Duration) { o.waitWarning = after }
