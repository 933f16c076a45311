package pginbox_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestLookingRegistersNobody: what an operator asks of a misspelt consumer is an error
// that has its name, and leaves no consumer behind.
func TestLookingRegistersNobody(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	_, err := pginbox.New(db.Pool, "typo", pginbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	require.NoError(t, err)
	a := adminOf(t, db.Pool)
	by, sel := somebody, admin.Selection{ID: "a"}
	for name, look := range map[string]func() error{
		"Parked":   func() error { _, err := a.Parked(t.Context(), admin.ParkedQuery{Consumer: "typo"}); return err },
		"Failures": func() error { _, err := a.Failures(t.Context(), admin.FailuresQuery{Consumer: "typo"}); return err },
		"Attempts": func() error { _, err := a.Attempts(t.Context(), admin.AttemptsQuery{Consumer: "typo"}); return err },
		"Lookup": func() error {
			_, err := a.Lookup(t.Context(), admin.LookupQuery{Consumer: "typo", ID: "a"})
			return err
		},
		"Audit": func() error { _, err := a.Audit(t.Context(), admin.AuditQuery{Consumer: "typo"}); return err },
		"Redrive": func() error {
			_, err := a.Redrive(t.Context(), admin.ChangeRequest{By: by, Consumer: "typo", Selection: sel})
			return err
		},
		"Drop": func() error {
			_, err := a.Drop(t.Context(), admin.ChangeRequest{By: by, Consumer: "typo", Selection: sel})
			return err
		},
		"SkipHead": func() error {
			_, err := a.SkipHead(t.Context(), admin.SkipHeadRequest{By: by, Consumer: "typo", Key: "k"})
			return err
		},
	} {
		err := look()
		require.ErrorIs(t, err, admin.ErrUnknownConsumer, name)
		require.ErrorContains(t, err, `"typo"`, name)
	}
	var n int
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.inbox_consumers`).Scan(&n))
	require.Zero(t, n)
}

// TestLookingNeedsSelect: looking needs SELECT on the tables that each method names, and
// goes where nothing can be written.
func TestLookingNeedsSelect(t *testing.T) {
	t.Parallel()
	db := forgetting(t, pginbox.MaintenanceConfig{})
	require.NoError(t, useParking(t.Context(), db.Pool, "shop"))
	require.NoError(t, usePositions(t.Context(), db.Pool, "reader"))
	outcome, err := process(t, newShop(t, db.Pool), "p", func(context.Context) error { return inbox.Permanent(errHandler) })
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeParked, outcome)
	for name, tt := range map[string]struct {
		grants []string
		look   func(a operators) error
	}{
		"Parked": {grants("SELECT", "_consumers", "_parked"), func(a operators) error {
			_, err := a.Parked(t.Context(), admin.ParkedQuery{Consumer: "shop"})
			return err
		}},
		"Failures": {grants("SELECT", "_consumers", "_parked"), func(a operators) error {
			_, err := a.Failures(t.Context(), admin.FailuresQuery{})
			return err
		}},
		"dry runs": {grants("SELECT", "_consumers", "_parked"), func(a operators) error {
			_, err := a.Redrive(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: allParked, DryRun: true})
			if err == nil {
				_, err = a.Drop(t.Context(), admin.ChangeRequest{By: somebody, Consumer: "shop", Selection: allParked, DryRun: true})
			}
			return err
		}},
		"Audit": {grants("SELECT", "_consumers", "_audit"), func(a operators) error {
			_, err := a.Audit(t.Context(), admin.AuditQuery{})
			return err
		}},
		"Attempts": {grants("SELECT", "", "_consumers", "_ranges", "_attempts"), func(a operators) error {
			_, err := a.Attempts(t.Context(), admin.AttemptsQuery{Consumer: "shop"})
			return err
		}},
		"Stats": {grants("SELECT", "", "_consumers", "_ranges", "_attempts", "_parked"), func(a operators) error {
			_, err := a.Stats(t.Context())
			return err
		}},
		"Consumers": {grants("SELECT", "", "_consumers", "_ranges", "_attempts", "_parked", "_watermarks"), func(a operators) error {
			_, err := a.Consumers(t.Context(), admin.ConsumersQuery{})
			return err
		}},
		"Lookup": {grants("SELECT", "", "_consumers", "_ranges", "_attempts", "_parked", "_notes", "_sources", "_retention"), func(a operators) error {
			_, err := a.Lookup(t.Context(), admin.LookupQuery{ID: "third"})
			return err
		}},
		"Retention": {grants("SELECT", "_retention"), func(a operators) error {
			_, err := a.Retention(t.Context())
			return err
		}},
		"Partitions": {grants("SELECT", "_consumers", "_sources", "_watermarks"), func(a operators) error {
			_, err := a.Partitions(t.Context(), admin.PartitionsQuery{Consumer: "reader"})
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := func(but string) operators {
				config := roleWith(t, db, tt.grants, but).Config()
				config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "on"
				pool, err := pgxpool.NewWithConfig(t.Context(), config)
				require.NoError(t, err)
				t.Cleanup(pool.Close)
				return adminOf(t, pool)
			}
			require.NoError(t, tt.look(reader("")))
			for _, grant := range tt.grants {
				require.ErrorContains(t, tt.look(reader(grant)), "permission denied", "it is not needed: %s", grant)
			}
		})
	}
}

// TestLookingRefusesHiddenRows: what an operator cannot see is not an answer.
func TestLookingRefusesHiddenRows(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"_parked", "_audit"} {
		db := testenv.Postgres(t, template)
		_, err := db.Pool.Exec(t.Context(), "ALTER TABLE leat.inbox"+table+" ENABLE ROW LEVEL SECURITY")
		require.NoError(t, err)
		a := adminOf(t, roleWith(t, db, grants("SELECT", "", "_consumers", "_parked", "_audit"), ""))
		_, err = a.Parked(t.Context(), admin.ParkedQuery{})
		require.ErrorIs(t, err, outbox.ErrRowSecurity)
		require.ErrorContains(t, err, "leat.inbox"+table)
	}
	_, err := adminOf(t, testenv.Postgres(t).Pool).Consumers(t.Context(), admin.ConsumersQuery{})
	require.ErrorIs(t, err, outbox.ErrNotMigrated)
}
