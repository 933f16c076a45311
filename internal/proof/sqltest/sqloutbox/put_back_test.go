package sqloutbox_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

// copied lists the tables that a copy of the outbox contains.
var copied = []string{"leat_outbox", "leat_outbox_groups", "leat_outbox_held", "leat_outbox_meta"}

// copyTables copies the tables of an outbox.
func copyTables(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, table := range copied {
		exec(t, db, "CREATE TABLE "+table+"_copy AS SELECT * FROM "+table)
	}
}

// putBack replaces the outbox by the copy, as if nothing had been written since.
func putBack(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, table := range copied {
		for _, statement := range []string{"DELETE FROM " + table, "INSERT INTO " + table + " SELECT * FROM " + table + "_copy"} {
			_, err := tx.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
	}
	require.NoError(t, tx.Commit())
	exec(t, db, setBack(dialect))
}

// TestO2_CopyPutBackUnderARelay: the copy is younger than the lease, so that its row of the group has the
// owner and the epoch of the running relay. Messages that are committed after the copy was put back get
// the numbers of messages that the relay has already read.
func TestO2_CopyPutBackUnderARelay(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(ctx context.Context, s driver.Session, page driver.Page) error{
		"Advance": func(ctx context.Context, s driver.Session, page driver.Page) error {
			return s.Advance(ctx, page, len(page.Records))
		},
		"Renew": func(ctx context.Context, s driver.Session, _ driver.Page) error { return s.Renew(ctx, lease) },
		"Hold": func(ctx context.Context, s driver.Session, page driver.Page) error {
			return s.(driver.Holder).Hold(ctx, page, 1, []driver.Holding{{Fate: driver.FatePark, Reason: "r", Attempts: []driver.Attempt{{}}}})
		},
		"Resolve": func(ctx context.Context, s driver.Session, _ driver.Page) error {
			_, err := s.(driver.Holder).Resolve(ctx, []driver.Verdict{{Record: &outbox.Record{Seq: 1}, Fate: driver.FateDelivered}})
			return err
		},
		"HeldKeys": func(ctx context.Context, s driver.Session, _ driver.Page) error {
			_, err := s.(driver.Holder).HeldKeys(ctx)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
				ob := relayed(t, db, dialect)
				s := acquire(t, ob, sqloutbox.SourceConfig{})
				copyTables(t, db)
				commit(t, ob, message("k", "sent"))
				require.Len(t, drain(t, s), 1)
				commit(t, ob, message("k", "on its way"))
				page, err := s.Read(t.Context(), 10)
				require.NoError(t, err)
				require.Len(t, page.Records, 1)

				putBack(t, db, dialect)
				names := commitMany(t, ob, 7)
				require.ErrorIs(t, write(t.Context(), s, page), driver.ErrLeaseLost)
				require.NoError(t, s.Release(t.Context()))
				require.Equal(t, names, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
			})
		})
	}
}

// TestO2_CopyOfThisMomentPutBack: since the copy was made, the relay has read messages and written
// nothing. Where a Read writes, the lease is lost.
func TestO2_CopyOfThisMomentPutBack(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := relayed(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		copyTables(t, db)
		commit(t, ob, message("k", "on its way"))
		page, err := s.Read(t.Context(), 10)
		require.NoError(t, err)
		require.Len(t, page.Records, 1)

		putBack(t, db, dialect)
		names := commitMany(t, ob, 7)
		err = s.Advance(t.Context(), page, 1)
		if err == nil {
			_, err = s.Read(t.Context(), 100)
			requireUnusable(t, err, "given out numbers again")
			require.NoError(t, s.Release(t.Context()))
			require.NoError(t, rebase(t, ob))
			require.Subset(t, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})), names)
			return
		}
		require.ErrorIs(t, err, driver.ErrLeaseLost)
		require.NoError(t, s.Release(t.Context()))
		require.Equal(t, names, drain(t, acquire(t, ob, sqloutbox.SourceConfig{})))
	})
}

// TestO14_OperatorsEndNoLease: a change by an operator does not count as a write of a relay.
func TestO14_OperatorsEndNoLease(t *testing.T) {
	t.Parallel()
	onAll(t, func(t *testing.T, db *sql.DB, dialect outbox.Dialect) {
		ob := newOutbox(t, db, dialect)
		s := acquire(t, ob, sqloutbox.SourceConfig{})
		by := admin.By{Actor: "me", Reason: "r"}
		for range 3 {
			require.NoError(t, ob.Admin().Pause(t.Context(), admin.PauseRequest{By: by, Group: "default", Topics: []string{"t"}}))
			require.NoError(t, ob.Admin().Resume(t.Context(), admin.PauseRequest{By: by, Group: "default", Topics: []string{"t"}}))
			require.NoError(t, ob.Admin().SetMaxLag(t.Context(), admin.MaxLagRequest{By: by, Group: "default", MaxLag: time.Hour}))
			require.NoError(t, s.Renew(t.Context(), lease))
			commit(t, ob, message("k", "a"))
			require.Len(t, drain(t, s), 1)
		}
	})
}
