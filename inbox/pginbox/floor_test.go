package pginbox_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// operatorsOf are the operators of a database's inbox.
func operatorsOf(tb testing.TB, env *testenv.Database) admin.Inbox {
	tb.Helper()
	in, err := pginbox.NewAdmin(env.Pool, pginbox.Config{})
	require.NoError(tb, err)
	return in
}

// lowering asks for a floor.
func lowering(to time.Time) admin.LowerFloorRequest {
	return admin.LowerFloorRequest{By: admin.By{Actor: "operator", Reason: "the clock was wrong"}, To: to, MayRepeat: !to.IsZero()}
}

// putAhead has clocks that were wrong together raise the floor.
func putAhead(tb testing.TB, env *testenv.Database, by time.Duration) {
	tb.Helper()
	_, err := env.Pool.Exec(context.Background(), `UPDATE leat.inbox_retention SET floor = $1`, madeAgo(-by)[:13]+"-0000-0000-000000000000")
	require.NoError(tb, err)
}

// TestI7_FloorAheadOfTheClock: clocks were wrong together, and all that comes is too old. Maintenance says what to do; then
// what comes is processed, and what was parked meanwhile takes effect once, redriven and delivered again.
func TestI7_FloorAheadOfTheClock(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env, again := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL}), make(redriven, 1)
			p, err := pginbox.New(env.Pool, "c", pginbox.Config{Config: inbox.Config{
				OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: 10 * time.Millisecond, Hooks: []outbox.Hook{again},
			}})
			require.NoError(t, err)
			putAhead(t, env, 16*day)
			parked := madeAgo(0)
			outcome, err := process(t, p, parked, write(parked))
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeParked, outcome)

			var heard edges
			m := maintenance(t, env, pginbox.MaintenanceConfig{NoDDL: noDDL, Hooks: []outbox.Hook{&heard}})
			_, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, []outbox.AlarmKind{pginbox.AlarmClock}, heard.kinds())
			require.Contains(t, heard.all[0].Detail, "lower it by leat inbox retention lower")

			operators := operatorsOf(t, env)
			retainer := operators.(admin.Retainer)
			before, err := retainer.Retention(t.Context())
			require.NoError(t, err)
			require.Negative(t, before.Kept)
			previous, err := retainer.LowerFloor(t.Context(), lowering(time.Time{}))
			require.NoError(t, err)
			require.Equal(t, before.Floor, previous)
			_, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Len(t, heard.ended, 1, "the alarm ends")
			require.Len(t, heard.kinds(), 1)

			fresh := madeAgo(-time.Second)
			for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
				outcome, err = process(t, p, fresh, write(fresh))
				require.NoError(t, err)
				require.Equal(t, want, outcome)
			}
			changed, err := operators.Redrive(t.Context(), admin.ChangeRequest{
				By: admin.By{Actor: "operator", Reason: "it is not too old"}, Consumer: "c", Selection: admin.Selection{ID: parked},
			})
			require.NoError(t, err)
			require.Equal(t, 1, changed.Count)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- p.RunRedrive(ctx, func(ctx context.Context, _ *message.Message) error { return write(parked)(ctx) })
			}()
			require.Equal(t, inbox.OutcomeCommitted, (<-again).Outcome)
			stop()
			require.NoError(t, <-ended)
			outcome, err = process(t, p, parked, write(parked))
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeDuplicate, outcome)
			require.Equal(t, []int{1, 1}, []int{effects(t, env, fresh), effects(t, env, parked)})
		})
	}
}

// TestI7_FloorIsNotLoweredByAClockThatIsOff: what would be the present to the one is the future to the other.
func TestI7_FloorIsNotLoweredByAClockThatIsOff(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	putAhead(t, env, 60*day)
	_, err := env.Pool.Exec(t.Context(), `ALTER FUNCTION pg_catalog.clock_timestamp() RENAME TO clock_that_is_right;
		CREATE FUNCTION pg_catalog.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_that_is_right() + interval '30 days' $$`)
	require.NoError(t, err)
	retainer := operatorsOf(t, env).(admin.Retainer)
	before, err := retainer.Retention(t.Context())
	require.NoError(t, err)
	_, err = retainer.LowerFloor(t.Context(), lowering(time.Time{}))
	require.ErrorContains(t, err, "the floor is not lowered: the clocks of database and process differ by")
	after, err := retainer.Retention(t.Context())
	require.NoError(t, err)
	require.Equal(t, before.Floor, after.Floor)
}

// redriven hears of deliveries of redriven messages.
type redriven chan inbox.DeliveryEvent

func (r redriven) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	if e.Redriven {
		r <- e
	}
}

// encounter calls meet once, before a statement with a text is sent that follows one with another text.
type encounter struct {
	after, text string
	meet        func()
	once        sync.Once
	armed       atomic.Bool
}

func (m *encounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if m.armed.Load() && strings.Contains(data.SQL, m.text) {
		m.once.Do(m.meet)
	}
	if strings.Contains(data.SQL, m.after) {
		m.armed.Store(true)
	}
	return ctx
}

func (*encounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TestI7_FloorIsLoweredUnderARound: a round of maintenance has looked, and sleeps while the floor is lowered and a message
// is processed that was too old. What it goes on with forgets nothing of that, and raises no floor.
func TestI7_FloorIsLoweredUnderARound(t *testing.T) {
	t.Parallel()
	for at, c := range map[string]struct {
		after, text string
		noDDL       bool
		used        bool // before it was made to forget, so that old ids are where they were
	}{
		"it raises the floor":   {"", "SET floor = $1 WHERE floor < $1", false, false},
		"it looks what to drop": {"SET floor = $1 WHERE floor < $1", "SELECT c.relname, pg_get_expr", false, false},
		"it drops":              {"", "DETACH PARTITION", false, false},
		"it deletes":            {"", "USING (SELECT id FROM", true, false},
		"it contracts":          {"NOT c.relispartition", "SELECT floor, width, lowered FROM", false, true},
	} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t, template)
			enable := func() {
				require.NoError(t, maintenance(t, env, pginbox.MaintenanceConfig{NoDDL: c.noDDL}).Enable(t.Context()))
			}
			if !c.used {
				enable()
			}
			p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			old, unseen := madeAgo(10*day), madeAgo(10*day)
			_, err = process(t, p, old, write(old))
			require.NoError(t, err)
			if c.used {
				enable()
			}
			ahead := day
			if c.used {
				ahead = 3 * day // ranges begin tomorrow or so
			}
			putAhead(t, env, ahead)
			if c.noDDL { // else its range is still there
				_, err = process(t, p, unseen, nothing)
				require.ErrorIs(t, err, driver.ErrTooOld)
			}
			retainer := operatorsOf(t, env).(admin.Retainer)
			to := time.Now().Add(-12 * day).Truncate(time.Millisecond)
			config := env.Pool.Config()
			met := false
			config.ConnConfig.Tracer = &encounter{after: c.after, text: c.text, meet: func() {
				met = true
				_, err := retainer.LowerFloor(t.Context(), lowering(to))
				require.NoError(t, err)
				_, err = process(t, p, unseen, write(unseen))
				require.NoError(t, err)
			}}
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			m, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{NoDDL: c.noDDL, Retention: 11 * day})
			require.NoError(t, err)
			_, err = m.RunOnce(t.Context())
			if err != nil {
				require.ErrorContains(t, err, "does not exist", "the range has another name")
			}
			require.True(t, met)
			after, err := retainer.Retention(t.Context())
			require.NoError(t, err)
			require.WithinDuration(t, to, after.Floor, 0)
			for _, id := range []string{unseen, old} {
				outcome, err := process(t, p, id, write(id))
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeDuplicate, outcome)
			}
			_, err = m.RunOnce(t.Context())
			require.NoError(t, err, "the next round goes on")
		})
	}
}

// TestI7_OtherIDsUnderAClockThatIsBehind: ids that tell no time come while the database's clock is a month behind. They are
// remembered for as long as all others once it is right.
func TestI7_OtherIDsUnderAClockThatIsBehind(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	_, err := env.Pool.Exec(t.Context(), `ALTER FUNCTION pg_catalog.now() RENAME TO now_that_is_right;
		CREATE FUNCTION pg_catalog.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT pg_catalog.now_that_is_right() - interval '30 days' $$`)
	require.NoError(t, err)
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	queued := pginbox.HandleQueued(p, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
		queue.Queue(`INSERT INTO effects VALUES ($1)`, msg.UUID)
		return nil
	})
	batch, err := inbox.NewBatch(p.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	batched := func(ids ...string) (errs []error) {
		msgs := make([]*message.Message, len(ids))
		for i, id := range ids {
			msgs[i] = bare(id)
		}
		return batch.Process(t.Context(), msgs, func(context.Context, []*message.Message) error { return nil })
	}
	_, err = process(t, p, "one", nothing)
	require.NoError(t, err)
	require.NoError(t, queued(bare("queued")))
	require.Equal(t, []error{nil, nil}, batched("fresh 1", "fresh 2"))
	p.LookFirst()
	require.Equal(t, []error{nil, nil}, batched("looked for 1", "looked for 2"))
	report, err := p.MarkProcessed(t.Context(), "marked")
	require.NoError(t, err)
	require.Equal(t, int64(1), report.Marked)

	_, err = maintenance(t, env, pginbox.MaintenanceConfig{KeepOther: 2 * day}).RunOnce(t.Context())
	require.NoError(t, err)
	for _, id := range []string{"one", "queued", "fresh 1", "fresh 2", "looked for 1", "looked for 2", "marked"} {
		outcome, err := process(t, p, id, nothing)
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeDuplicate, outcome, id)
	}
}
