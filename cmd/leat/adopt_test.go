package main_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// A table of a service's own is recognised, taken over, and given back. What is wrong is said before anything changes.
func TestAdopt(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tables, err := os.ReadFile("../../outbox/adopt/testdata/shapes.sql")
	require.NoError(t, err)
	exec := func(statement string, args ...any) {
		_, err := s.Pool.Exec(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	exec(string(tables))
	const id = "018f0000-0000-7000-8000-00000000000"
	for i := range 4 {
		exec(`INSERT INTO helpdesk_outbox (event_id, aggregate, aggregate_id, event_type, payload, created_at)
			VALUES ($1, 'ticket', 't-1', 'ticket.opened', '{"n": 1}', '2026-01-05 10:00:00.12Z')`, fmt.Sprint(id, i))
	}
	o := newSession(t, s.URL)
	o.run(2, "adopt", "take", "tickets", "--dry-run")
	o.run(2, "adopt", "take", "helpdesk_outbox", "--dry-run")
	o.run(2, "adopt", "take", "helpdesk_outbox", "--topic", "tickets", "--dry-run")
	o.run(0, "adopt", "take", "helpdesk_outbox", "--topic", "'tickets'", "--dry-run")
	o.run(0, "adopt", "take", "public.helpdesk_outbox", "--topic", "'tickets'", "--payload", "payload", "--header", "a=event_type", "--dry-run", "-o", "json")
	o.run(2, "adopt", "take", "helpdesk_outbox", "--topic", "'tickets'")
	o.run(0, "adopt", "release", "helpdesk_outbox", "--dry-run")
	o.run(0, "adopt", "take", "helpdesk_outbox", "--topic", "'tickets'", "--yes")
	o.run(0, "adopt", "take", "helpdesk_outbox", "--topic", "'tickets'", "--yes", "-o", "json")
	o.run(0, "messages", "search", "--time", "utc")
	o.run(0, "adopt", "release", "helpdesk_outbox", "--dry-run")
	o.run(0, "adopt", "release", "helpdesk_outbox", "--yes")
	o.run(0, "adopt", "release", "helpdesk_outbox", "--yes", "-o", "json")
	var pending int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM helpdesk_outbox WHERE status <> 'sent'").Scan(&pending))
	require.Zero(t, pending)

	exec("INSERT INTO openoutbox_events (event_id, event_type, payload, headers) VALUES ($1, 'a', 'x', '[1]')", id+"7")
	o.run(1, "adopt", "take", "openoutbox_events", "--yes")
	exec("CREATE TABLE mine (id int PRIMARY KEY, topic text, body text)")
	o.run(0, "adopt", "take", "mine", "--dry-run", "-o", "json")
	o.run(0, "adopt", "take", "mine", "--yes")
	o.run(0, "adopt", "release", "mine", "--dry-run")
	o.golden("adopt")
}

func TestSQL_Adopt(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		o := newSession(t, s.url)
		if s.dialect == outbox.SQLite {
			r := o.leat("adopt", "take", "outbox_events", "--dry-run")
			require.Equal(t, 2, r.code)
			require.Contains(t, r.err, `dialect = "sqlite": must be "mysql" or "mariadb"`)
			return
		}
		for _, statement := range []string{
			"CREATE TABLE outbox_events (id bigint AUTO_INCREMENT PRIMARY KEY, aggregate_type varchar(255) NOT NULL, aggregate_id varchar(255) NOT NULL, " +
				"event_type varchar(255) NOT NULL, payload varchar(255) NOT NULL, created_at timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6), sent_at timestamp(6) NULL)",
			"INSERT INTO outbox_events (aggregate_type, aggregate_id, event_type, payload) VALUES ('orders', 'o-1', 'paid', '1'), ('orders', 'o-1', 'sent', '2')",
		} {
			_, err := s.db.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
		o.run(0, "adopt", "take", "outbox_events", "--dry-run")
		o.run(0, "adopt", "take", "outbox_events", "--yes")
		o.run(0, "messages", "search", "--time", "utc")
		o.run(0, "adopt", "release", "outbox_events", "--yes")
		o.run(0, "adopt", "release", "outbox_events", "--yes")
		o.golden("sql-adopt")
	})
}
