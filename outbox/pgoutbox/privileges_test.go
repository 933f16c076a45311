package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestPrivileges does each role's work with exactly the privileges that are documented, and without each
// of them in turn, when it must fail.
func TestPrivileges(t *testing.T) {
	t.Parallel()
	const row = "id, shard, id_text, topic, key, type, payload, headers, occurred_at"
	relays := []string{
		"SELECT ON leat.outbox", "SELECT ON SEQUENCE leat.outbox_seq_seq", "SELECT ON leat.outbox_meta", "SELECT ON leat.outbox_migrations", "INSERT ON leat.outbox_audit",
	}
	for _, table := range []string{"leases", "positions", "groups", "members", "held", "out", "dead"} {
		for _, p := range []string{"SELECT", "INSERT", "UPDATE", "DELETE"} {
			relays = append(relays, p+" ON leat.outbox_"+table)
		}
	}
	for name, tt := range map[string]struct {
		grants []string
		use    func(ctx context.Context, ob *pgoutbox.Outbox) error
		// inserts says that this use needs each of the privileges to insert. The others
		// are for more than it does.
		inserts bool
	}{
		"producer": {[]string{"INSERT (" + row + ") ON leat.outbox", "SELECT ON leat.outbox_meta"}, useProducer, true},
		"delaying producer": {
			[]string{"INSERT (" + row + ") ON leat.outbox", "INSERT (not_before, " + row + ") ON leat.outbox_delayed", "SELECT ON leat.outbox_meta"}, useDelay, true,
		},
		"relay":             {relays, useRelay, false},
		"relay that counts": {append(relays, "SELECT ON leat.outbox_status", "SELECT ON leat.outbox_delayed", "SELECT ON leat.outbox_audit"), useStats, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			use := func(but string) error {
				ob, db := newOutbox(t, pgoutbox.Config{})
				put(t, ob, "k", "poison", "behind")
				put(t, ob, "", "alone")
				return tt.use(t.Context(), outboxOfRole(t, db, tt.grants, but))
			}
			require.NoError(t, use(""))
			for _, grant := range tt.grants {
				if tt.inserts && strings.HasPrefix(grant, "INSERT") {
					require.Error(t, use(grant), "%s is not needed", grant)
				}
			}
		})
	}
}

// outboxOfRole returns the outbox of db for a new role with all privileges but one.
func outboxOfRole(t *testing.T, db *testenv.Database, all []string, but string) *pgoutbox.Outbox {
	t.Helper()
	role := "leat_test_" + uuid.NewString()
	exec(t, db, `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`"`)
	t.Cleanup(func() { dropRole(t, db, role) })
	for _, grant := range all {
		if grant != but {
			exec(t, db, `GRANT `+grant+` TO "`+role+`"`)
		}
	}
	cfg := db.Pool.Config()
	cfg.ConnConfig.RuntimeParams["role"] = role
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	return ob
}

func useProducer(ctx context.Context, ob *pgoutbox.Outbox) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return ob.Enqueue(ctx, tx, keyed("k", "produced")...) })
}

func useDelay(ctx context.Context, ob *pgoutbox.Outbox) error {
	return ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		return ob.Enqueue(ctx, tx, delayedBy("k", time.Now().Add(time.Hour), "later")...)
	})
}

// picky rejects one payload permanently while it is set, and accepts all others.
type picky struct {
	poison string
	taken  []string
}

// Send implements driver.Sink.
func (s *picky) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results, refused := make([]outbox.Result, len(records)), map[string]bool{}
	for i, r := range records {
		switch {
		case refused[r.Key]:
			results[i] = outbox.NotSent()
		case string(r.Payload) == s.poison:
			refused[r.Key] = true
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("poison"))
		default:
			s.taken = append(s.taken, string(r.Payload))
		}
	}
	return results
}

var errIncomplete = errors.New("the run was not complete")

// useRelay relays the waiting messages, parks a key, and redrives it.
func useRelay(ctx context.Context, ob *pgoutbox.Outbox) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	sink := &picky{poison: "poison"}
	for _, want := range [][]string{{"alone"}, {"alone", "poison", "behind"}} {
		src, err := ob.Source(pgoutbox.SourceConfig{})
		if err != nil {
			return err
		}
		r, err := relay.New(src, sink, relay.Config{})
		if err == nil {
			_, err = r.RunOnce(ctx)
		}
		if err != nil || !slices.Equal(want, sink.taken) {
			return fmt.Errorf("%w: sent %q: %w", errIncomplete, sink.taken, err)
		}
		if sink.poison == "" {
			return nil
		}
		sink.poison = ""
		changed, err := ob.Admin().Redrive(ctx, admin.ChangeRequest{By: people(), Selection: admin.Selection{Topic: topic, Key: "k"}})
		if err != nil {
			return fmt.Errorf("%w: redriven %v: %w", errIncomplete, changed, err)
		}
	}
	return nil
}

// useStats does the same as useRelay and then reads what operators look at.
func useStats(ctx context.Context, ob *pgoutbox.Outbox) error {
	err := useRelay(ctx, ob)
	_, stats := ob.Admin().Stats(ctx)
	entries, audit := ob.Admin().Audit(ctx, admin.AuditQuery{})
	if audit == nil && len(entries) == 0 {
		audit = errIncomplete
	}
	return errors.Join(err, stats, audit)
}
