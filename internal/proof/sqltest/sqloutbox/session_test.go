package sqloutbox_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// TestRowsOfOtherTopicsAreSettledBehindAPage: rows of other topics were passed while a page was being
// sent. They are settled with the page.
func TestRowsOfOtherTopicsAreSettledBehindAPage(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	ob := newOutbox(t, db, outbox.SQLite)
	s := acquire(t, ob, sqloutbox.SourceConfig{Topics: []string{"t"}})
	commit(t, ob, message("", "a"))
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	other := message("", "other")
	other.Topic = "other"
	commit(t, ob, other)
	require.Empty(t, read(t, s))
	require.NoError(t, s.Advance(t.Context(), page, 1))
	require.Empty(t, read(t, s))

	var last int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT last FROM leat_outbox_groups").Scan(&last))
	require.Equal(t, 2, last)
}

// TestO2_NewGroupBesideOneThatWaits: a new group that begins now may be an old one under another name, and
// then leaves out the messages that the old one has waiting. So that is logged.
func TestO2_NewGroupBesideOneThatWaits(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		t.Helper()
		ob := newOutbox(t, db, dialect)
		require.NoError(t, acquire(t, ob, sqloutbox.SourceConfig{}).Release(t.Context()))
		drained := acquire(t, ob, sqloutbox.SourceConfig{Group: "drained", Start: driver.Start{Oldest: true}})
		commit(t, ob, message("", "1"), message("", "2"), message("", "3"))
		drain(t, drained)
		require.NoError(t, drained.Release(t.Context()))
		var log strings.Builder // one call at a time writes to it
		said, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		for range 2 { // it is new but once
			require.NoError(t, acquire(t, said, sqloutbox.SourceConfig{Group: "oldest", Start: driver.Start{Oldest: true}}).Release(t.Context()))
		}
		require.Empty(t, log.String())
		for range 2 {
			require.NoError(t, acquire(t, said, sqloutbox.SourceConfig{Group: "now", Start: driver.Start{Now: true}}).Release(t.Context()))
		}
		require.Equal(t, 2, strings.Count(log.String(), "a new group begins behind messages"), log.String())
		require.Contains(t, log.String(), "group=now other=default waiting=3")
		require.Contains(t, log.String(), "group=now other=oldest waiting=3")
	})
}

// TestO2_ChangesOfTopicsAreSaid: a standby relay with other topics logs that its topics do not count yet.
// A relay that takes the lead with other topics logs the change once, with the number of messages of added
// topics that the group has passed.
func TestO2_ChangesOfTopicsAreSaid(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		t.Helper()
		newOutbox(t, db, dialect)
		log := testenv.NewLog()
		ob, err := sqloutbox.New(db, dialect, sqloutbox.Config{Logger: log.Logger()})
		require.NoError(t, err)
		check := func(topics ...string) {
			src, err := ob.Source(sqloutbox.SourceConfig{Topics: topics})
			require.NoError(t, err)
			require.NoError(t, src.Check(t.Context()))
		}
		leads := func(want int, topics ...string) {
			s := acquire(t, ob, sqloutbox.SourceConfig{Topics: topics})
			commit(t, ob, outbox.Message{Topic: "b"}, outbox.Message{Topic: "a"})
			require.Len(t, drain(t, s), want)
			require.NoError(t, s.Release(t.Context()))
		}
		const standby, other, passed = "the relays that lead the group read other topics, which count until they stop",
			"the group reads other topics from now on", "what it has passed of them is only sent by leat replay"
		all := acquire(t, ob, sqloutbox.SourceConfig{})
		check()
		require.NotContains(t, log.String(), "read")
		check("a")
		require.Contains(t, log.String(), "level=WARN msg=\""+standby+"\" group=default reads=[a] former=[*]")
		require.NotContains(t, log.String(), other)
		require.NoError(t, all.Release(t.Context()))

		log.Forget()
		for range 2 {
			check("a") // nobody leads
			leads(1, "a")
		}
		require.NotContains(t, log.String(), standby)
		require.Equal(t, 1, strings.Count(log.String(), other))
		require.Contains(t, log.String(), "level=INFO msg=\""+other+"\" group=default reads=[a] former=[*]")

		log.Forget()
		for range 2 {
			leads(2, "a", "c", "b")
		}
		require.Equal(t, 1, strings.Count(log.String(), other))
		require.Contains(t, log.String(), "level=WARN msg=\""+other+"; "+passed+"\" group=default reads=\"[a b c]\" former=[a] passed=2")
	})
}

// TestMaintenanceRestsInAnOutage: promotions of delayed messages fail. Retention still works, and nothing
// retries in a tight loop.
func TestMaintenanceRestsInAnOutage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, config *mysql.Config, dialect outbox.Dialect) {
		var failing atomic.Bool
		var tries, rounds atomic.Int64
		retained := make(chan struct{}, 2)
		db := sqltest.OpenHooked(t, config, func(_ context.Context, query string) error {
			switch {
			case failing.Load() && strings.Contains(query, "leat_outbox_locks"):
				if tries.Add(1) == 50 {
					retained <- struct{}{}
				}
				return errInjected
			case failing.Load() && strings.Contains(query, "floor") && rounds.Add(1) == 3:
				retained <- struct{}{}
			}
			return nil
		})
		ob := newOutbox(t, db, dialect)
		m, err := sqloutbox.NewMaintenance(ob, sqloutbox.MaintenanceConfig{Interval: time.Millisecond})
		require.NoError(t, err)
		failing.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		<-retained
		cancel()
		require.NoError(t, <-ended)
		require.LessOrEqual(t, tries.Load(), rounds.Load(), "a try is followed by a round, and by a pause")

		_, err = m.RunOnce(t.Context())
		require.ErrorIs(t, err, errInjected)
	})
}

func read(t *testing.T, s driver.Session) []string {
	t.Helper()
	page, err := s.Read(t.Context(), 10)
	require.NoError(t, err)
	return payloads(page)
}
