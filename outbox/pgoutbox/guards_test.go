package pgoutbox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestGuards_OwnSessions checks the settings that a relay's connections make for themselves, whatever the
// database sets.
func TestGuards_OwnSessions(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, `ALTER DATABASE "`+db.Name+`" SET default_transaction_isolation = 'repeatable read'`)
	exec(t, db, `ALTER DATABASE "`+db.Name+`" SET default_transaction_read_only = on`)
	group := strings.Repeat("g", 80)
	conn, err := source(t, ob, group).ConnectOwn(t.Context())
	require.NoError(t, err)
	defer conn.Close(context.Background())
	for setting, want := range map[string]string{
		"jit":                                 "off",
		"synchronous_commit":                  "off",
		"transaction_isolation":               "read committed",
		"transaction_read_only":               "off",
		"lock_timeout":                        "5s",
		"statement_timeout":                   "1min",
		"idle_in_transaction_session_timeout": "1min",
		"application_name":                    ("leat relay " + group)[:63],
	} {
		var got string
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT current_setting($1)", setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
	require.Equal(t, 1, connections(t, db, ("leat relay " + group)[:63]))
}

// TestO3_SettingsAreLookedAtAgain: a setting that is refused at start-up is also refused when a relay
// reconnects, for instance after a failover.
func TestO3_SettingsAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	broker := outboxtest.NewBroker()
	r, err := relay.New(source(t, ob, ""), broker.Sink(), relay.Config{BackoffMax: 50 * time.Millisecond})
	require.NoError(t, err)
	run := runRelay(t, r)
	put(t, ob, "k", "1")
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)
	exec(t, db, `ALTER DATABASE "`+db.Name+`" SET synchronous_commit = off`)
	exec(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'leat relay%'")
	err = <-run.done
	require.ErrorIs(t, err, driver.ErrSourceUnusable)
	require.ErrorContains(t, err, "synchronous_commit")
}
