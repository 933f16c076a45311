package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// unitStep is what a handler does.
type unitStep struct {
	name string
	do   func(ctx context.Context, ob *pgoutbox.Outbox, n int) error
}

func unitExec(name, sql string) unitStep {
	return unitStep{name, func(ctx context.Context, _ *pgoutbox.Outbox, n int) error {
		_, err := pginbox.Tx(ctx).Exec(ctx, sql, []any{n}[:strings.Count(sql, "$")]...)
		return err
	}}
}

func unitEnqueue(ctx context.Context, ob *pgoutbox.Outbox, n int) error {
	return ob.EnqueueContext(ctx, outbox.Message{Topic: "t", Key: "k" + strconv.Itoa(n%3), Payload: fmt.Append(nil, "message-", n)})
}

// unitSavepoint enqueues and inserts in a savepoint, and ends that.
func unitSavepoint(name string, end func(pgx.Tx, context.Context) error) unitStep {
	return unitStep{name, func(ctx context.Context, ob *pgoutbox.Outbox, n int) error {
		sp, err := pginbox.Tx(ctx).Begin(ctx)
		if err != nil {
			return err
		}
		_, err = sp.Exec(ctx, "INSERT INTO effects VALUES ($1)", strconv.Itoa(n))
		return errors.Join(err, ob.Enqueue(ctx, sp, outbox.Message{Topic: "t", Key: "k"}), end(sp, ctx))
	}}
}

// unitSteps are the steps of handlers.
func unitSteps() []unitStep {
	return append(unitWholes(),
		unitStep{"enqueue", unitEnqueue},
		unitExec("insert", "INSERT INTO effects VALUES ($1::int::text)"),
		unitExec("unique violation", "INSERT INTO unit_once VALUES (1)"),
		unitExec("no syntax", "INSERTED"),
		unitExec("savepoint", "SAVEPOINT s"),
		unitExec("rollback to", "ROLLBACK TO s"),
		unitExec("release", "RELEASE s"),
		unitExec("its own commit", "COMMIT"),
		unitExec("its own rollback", "ROLLBACK"),
		unitExec("its own end", "SELECT CASE WHEN true THEN 1 END; END"),
		unitExec("counts its messages", "INSERT INTO effects SELECT count(*) FROM leat.outbox"),
		unitExec("prepares a look", "PREPARE look AS SELECT count(*) FROM leat.outbox"),
		unitExec("looks", "CREATE TEMP TABLE looked ON COMMIT DROP AS EXECUTE look; INSERT INTO effects SELECT count FROM looked"),
		unitStep{"no row", func(ctx context.Context, _ *pgoutbox.Outbox, _ int) error {
			var got string
			return pginbox.Tx(ctx).QueryRow(ctx, "SELECT effect FROM effects WHERE effect = 'none'").Scan(&got)
		}},
		unitStep{"leaves rows open", func(ctx context.Context, _ *pgoutbox.Outbox, _ int) error {
			_, err := pginbox.Tx(ctx).Query(ctx, "SELECT generate_series(1, 100000)") //nolint:sqlclosecheck // that is the mistake
			return err
		}},
	)
}

// unitWholes are steps that settle a unit, and those that end it.
func unitWholes() []unitStep {
	return []unitStep{
		{"batch", func(ctx context.Context, _ *pgoutbox.Outbox, n int) error {
			var b pgx.Batch
			b.Queue("INSERT INTO effects VALUES ($1)", strconv.Itoa(n))
			b.Queue("INSERT INTO effects SELECT count(*) FROM leat.outbox")
			return pginbox.Tx(ctx).SendBatch(ctx, &b).Close()
		}},
		{"copy", func(ctx context.Context, _ *pgoutbox.Outbox, n int) error {
			_, err := pginbox.Tx(ctx).CopyFrom(ctx, pgx.Identifier{"effects"}, []string{"effect"}, pgx.CopyFromRows([][]any{{strconv.Itoa(n)}}))
			return err
		}},
		{"on the connection", func(ctx context.Context, _ *pgoutbox.Outbox, n int) error {
			_, err := pginbox.Tx(ctx).Conn().Exec(ctx, "INSERT INTO effects SELECT $1 || count(*)::text FROM leat.outbox", strconv.Itoa(n))
			return err
		}},
		unitSavepoint("savepoint of pgx", pgx.Tx.Commit),
		unitSavepoint("savepoint of pgx, undone", pgx.Tx.Rollback),
		{"rolls back", func(ctx context.Context, _ *pgoutbox.Outbox, _ int) error { return pginbox.Tx(ctx).Rollback(ctx) }},
		{"commits", func(ctx context.Context, _ *pgoutbox.Outbox, _ int) error { return pginbox.Tx(ctx).Commit(ctx) }},
		{"another table", func(ctx context.Context, ob *pgoutbox.Outbox, n int) error {
			other, _ := ctx.Value(otherKey{}).(*pgoutbox.Outbox)
			return errors.Join(unitEnqueue(ctx, other, n), unitEnqueue(ctx, ob, n+1))
		}},
		{"message that is refused", func(ctx context.Context, ob *pgoutbox.Outbox, _ int) error {
			return ob.EnqueueContext(ctx, outbox.Message{})
		}},
		{"delayed message", func(ctx context.Context, ob *pgoutbox.Outbox, n int) error {
			return ob.EnqueueContext(ctx, outbox.Message{Topic: "t", Key: strconv.Itoa(n), NotBefore: time.Now().Add(time.Hour)})
		}},
		{"panics", func(context.Context, *pgoutbox.Outbox, int) error { panic(errHandler) }},
	}
}

type otherKey struct{}

// unitResult is what a delivery has left, and how it ended.
type unitResult struct {
	Outcome                                    inbox.Outcome
	Err, Texts                                 string
	Effects, Messages, Delayed, Other, Settled string
}

// unitClass returns what must be equal of an error.
func unitClass(err error) string {
	for _, known := range []error{
		outbox.ErrInvalidMessage, outbox.ErrNotInTransaction, driver.ErrEnded, inbox.ErrCommitUnknown,
		pgx.ErrTxCommitRollback, pgx.ErrTxClosed, pgx.ErrNoRows, errHandler, driver.ErrNotCommitted,
	} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	switch {
	case err == nil:
		return "ok"
	case strings.Contains(err.Error(), "conn busy"): // pgx adds what it wanted to do
		return "conn busy"
	default:
		return err.Error()
	}
}

// run delivers a message to a handler of these steps, of which those in swallow have their errors ignored.
func (r *unitResult) run(ctx context.Context, in *pginbox.Inbox, ob *pgoutbox.Outbox, all []unitStep, swallow []bool) {
	var texts []string
	defer func() {
		r.Texts = strings.Join(texts, "\n")
		if p := recover(); p != nil {
			r.Err = "panic"
		}
	}()
	var err error
	// The connection of a delivery that left rows open may hold the lock of its id for a while.
	r.Outcome, err = in.Process(ctx, message.NewMessage(uuid.NewString(), nil), func(ctx context.Context) error {
		for i, s := range all {
			err := s.do(ctx, ob, 10+i)
			texts = append(texts, s.name+": "+unitClass(err))
			if err != nil && !swallow[i] {
				return err
			}
		}
		return nil
	})
	r.Err = unitClass(err)
}

func (r *unitResult) look(ctx context.Context, t require.TestingT, pool *pgxpool.Pool) {
	for sql, to := range map[string]*string{
		"SELECT coalesce(string_agg(effect, ' ' ORDER BY effect), '') FROM effects":                         &r.Effects,
		"SELECT coalesce(string_agg(convert_from(payload, 'UTF8'), ' ' ORDER BY seq), '') FROM leat.outbox": &r.Messages,
		"SELECT count(*)::text FROM leat.outbox_delayed":                                                    &r.Delayed,
		"SELECT coalesce(string_agg(convert_from(payload, 'UTF8'), ' ' ORDER BY seq), '') FROM leat.other":  &r.Other,
		"SELECT count(*)::text FROM leat.inbox":                                                             &r.Settled,
	} {
		require.NoError(t, pool.QueryRow(ctx, sql).Scan(to))
	}
	_, err := pool.Exec(ctx, `DO $$ BEGIN IF EXISTS (SELECT FROM pg_prepared_statements WHERE name = 'look') THEN DEALLOCATE look; END IF; END $$`)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "DELETE FROM effects; DELETE FROM leat.outbox; DELETE FROM leat.outbox_delayed; DELETE FROM leat.other; DELETE FROM leat.inbox")
	require.NoError(t, err)
}

// TestI2_HandlersSpareTripsOnly: whatever a handler does, it sees the same errors, and leaves the
// same rows, messages and memory, as where its messages are inserted at once.
func TestI2_HandlersSpareTripsOnly(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t, template)
	boxes := map[bool]*pgoutbox.Outbox{}
	for _, atOnce := range []bool{false, true} {
		var err error
		boxes[atOnce], err = pgoutbox.New(db.Pool, pgoutbox.Config{InsertAtOnce: atOnce})
		require.NoError(t, err)
	}
	require.NoError(t, boxes[true].Migrate(t.Context()))
	in, err := pginbox.New(db.Pool, "unit", pginbox.Config{})
	require.NoError(t, err)
	_, err = db.Pool.Exec(t.Context(), "CREATE TABLE unit_once (n int PRIMARY KEY); INSERT INTO unit_once VALUES (1)")
	require.NoError(t, err)
	others := map[bool]*pgoutbox.Outbox{}
	for atOnce := range boxes {
		others[atOnce], err = pgoutbox.New(db.Pool, pgoutbox.Config{Table: "other", InsertAtOnce: atOnce})
		require.NoError(t, err)
	}
	require.NoError(t, others[true].Migrate(t.Context()))
	possible := unitSteps()
	put := unitStep{"enqueue", unitEnqueue}
	compare := func(t require.TestingT, all []unitStep, swallow []bool) {
		var got, want unitResult
		for atOnce, r := range map[bool]*unitResult{true: &want, false: &got} {
			(&unitResult{}).look(context.Background(), t, db.Pool)
			r.run(context.WithValue(context.Background(), otherKey{}, others[atOnce]), in, boxes[atOnce], all, swallow)
			r.look(context.Background(), t, db.Pool)
		}
		require.Equal(t, want, got)
	}
	for i := range possible {
		for _, all := range [][]unitStep{{possible[i]}, {put, possible[i]}, {put, possible[i], put}} {
			compare(t, all, make([]bool, len(all)))
			compare(t, all, []bool{true, true, true})
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "steps")
		all, swallow := make([]unitStep, n), make([]bool, n)
		for i := range all {
			all[i] = possible[rapid.IntRange(0, len(possible)-1).Draw(rt, "step")]
			swallow[i] = rapid.Bool().Draw(rt, "swallow "+all[i].name)
		}
		compare(rt, all, swallow)
	})
}

// unitShop is a subject whose handler writes an effect and enqueues a message.
type unitShop struct {
	*subject

	t   *testing.T
	ob  *pgoutbox.Outbox
	run inbox.Runner
}

func newUnitShop(t *testing.T, cfg inbox.Config) unitShop {
	t.Helper()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	ob, err := pgoutbox.New(s.pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(t.Context()))
	run, err := s.Open("tester", cfg)
	require.NoError(t, err)
	return unitShop{s, t, ob, run}
}

func (s unitShop) handle(ctx context.Context, id string) (inbox.Outcome, error) {
	return s.run.Process(ctx, message.NewMessage(id, nil), func(ctx context.Context) error {
		return errors.Join(s.Write(ctx, id), s.ob.EnqueueContext(ctx, outbox.Message{Topic: "t", Key: "k", Payload: []byte(id)}))
	})
}

// require compares the effects and the messages that are there.
func (s unitShop) require(ids ...string) {
	s.t.Helper()
	s.requireEffects(s.t, ids...)
	messages, err := s.strings(s.t.Context(), "SELECT convert_from(payload, 'UTF8') FROM leat.outbox")
	require.NoError(s.t, err)
	require.ElementsMatch(s.t, ids, messages)
}

// TestI2_CutsAroundAMessage: the message of a handler shares the fate of its effect and of its id,
// wherever the connection is cut on the way to COMMIT.
func TestI2_CutsAroundAMessage(t *testing.T) {
	t.Parallel()
	s := newUnitShop(t, inbox.Config{})
	_, err := s.handle(t.Context(), "first") // the connection is known
	require.NoError(t, err)
	for _, cut := range []faultnet.Cut{faultnet.CutBefore, faultnet.CutAfter} {
		id := fmt.Sprint("cut ", cut)
		s.cable.Arm(cut)
		outcome, err := s.handle(t.Context(), id)
		require.ErrorIs(t, err, inbox.ErrCommitUnknown)
		require.Equal(t, inbox.OutcomeUnknown, outcome)
		outcome, err = s.handle(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, cut == faultnet.CutAfter, outcome == inbox.OutcomeDuplicate)
	}
	s.require("first", fmt.Sprint("cut ", faultnet.CutBefore), fmt.Sprint("cut ", faultnet.CutAfter))
}

// TestI4_CommitWaitsForAKey: a COMMIT that waits for the key of its message may do so beyond
// FinishTimeout, as Enqueue may. Once the delivery has ended it is cancelled, and does not commit
// later.
func TestI4_CommitWaitsForAKey(t *testing.T) {
	t.Parallel()
	s := newUnitShop(t, inbox.Config{FinishTimeout: 50 * time.Millisecond})
	_, err := s.handle(t.Context(), "first")
	require.NoError(t, err)
	holder, err := s.env.Pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.ob.Enqueue(t.Context(), holder, outbox.Message{Topic: "t", Key: "k", Payload: []byte("holder")}))

	waiting := func() int {
		var n int
		require.NoError(t, s.env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
			WHERE locktype = 'advisory' AND NOT granted AND query_start < clock_timestamp() - interval '500 ms'`).Scan(&n))
		return n
	}
	deliver := func(ctx context.Context, id string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := s.handle(ctx, id)
			done <- err
		}()
		require.Eventually(t, func() bool { return waiting() == 1 }, time.Minute, 10*time.Millisecond)
		return done
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := deliver(ctx, "gone")
	cancel()
	err = <-gone
	require.ErrorIs(t, err, driver.ErrNotCommitted)
	require.NotErrorIs(t, err, inbox.ErrCommitUnknown)
	patient := deliver(t.Context(), "patient")
	require.NoError(t, holder.Rollback(t.Context()))
	require.NoError(t, <-patient)
	s.require("first", "patient")
	_, err = s.handle(t.Context(), "gone")
	require.NoError(t, err)
	s.require("first", "patient", "gone")
}

// TestI4_CommitIsRefusedWithItsMessage: the server refuses the message behind the handler's back. That is a failure,
// and nothing is left of it.
func TestI4_CommitIsRefusedWithItsMessage(t *testing.T) {
	t.Parallel()
	s := newUnitShop(t, inbox.Config{})
	_, err := s.handle(t.Context(), "first")
	require.NoError(t, err)
	_, err = s.env.Pool.Exec(t.Context(), `CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER nothing BEFORE INSERT ON leat.outbox FOR EACH ROW EXECUTE FUNCTION nothing()`)
	require.NoError(t, err)
	outcome, err := s.handle(t.Context(), "second")
	require.ErrorIs(t, err, driver.ErrNotCommitted)
	require.ErrorContains(t, err, "suppresses rows")
	require.Equal(t, inbox.OutcomeFailed, outcome)
	require.Zero(t, s.pool.Stat().AcquiredConns())
	s.require("first")
}
