package pginbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// modes are the two ways to forget.
var modes = map[string]bool{"ranges": false, "delete": true}

// TestI7_RedeliveryBelowTheFloor delivers a message again after it was forgotten,
// with each policy. Nothing runs or vanishes without a word.
func TestI7_RedeliveryBelowTheFloor(t *testing.T) {
	t.Parallel()
	policies := map[pginbox.TooOldPolicy]struct {
		outcome inbox.Outcome
		err     error
		effects int
	}{
		pginbox.TooOldPark:    {inbox.OutcomeFailed, driver.ErrTooOld, 1},
		pginbox.TooOldProcess: {inbox.OutcomeCommitted, nil, 2},
		pginbox.TooOldDrop:    {inbox.OutcomeDuplicate, nil, 1},
	}
	for mode, noDDL := range modes {
		for policy, want := range policies {
			for _, kind := range []string{"pgx", "sql"} {
				t.Run(mode+"/"+string(policy)+"/"+kind, func(t *testing.T) {
					t.Parallel()
					var heard edges
					env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL})
					p := stores(t, env, pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{&heard}}, TooOld: policy})[kind]
					id, other := madeAgo(10*day), madeAgo(4*day)
					for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
						for _, id := range []string{id, other} {
							outcome, err := process(t, p, id, write(id))
							require.NoError(t, err)
							require.Equal(t, want, outcome)
						}
					}
					report := remember(t, env, 5*day, noDDL)
					require.Equal(t, !noDDL, len(report.Dropped) == 1, "%+v", report)
					require.Equal(t, noDDL, report.Deleted == 1, "%+v", report)

					outcome, err := process(t, p, id, write(id))
					require.ErrorIs(t, err, want.err)
					require.Equal(t, want.outcome, outcome)
					require.Equal(t, want.effects, effects(t, env, id))
					require.Contains(t, heard.kinds(), pginbox.AlarmTooOld)
					require.Equal(t, want.err != nil, inbox.ShouldPoison(err), "a poison queue takes it")
					outcome, err = process(t, p, other, write(other))
					require.NoError(t, err)
					require.Equal(t, inbox.OutcomeDuplicate, outcome)
				})
			}
		}
	}
}

// TestI7_TooOldWhileItIsStillRunning: a delivery that began before the floor rose may
// yet fail, so the other one must not be acknowledged, whatever the policy.
func TestI7_TooOldWhileItIsStillRunning(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	first, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	second, err := pginbox.New(env.Pool, "c", pginbox.Config{TooOld: pginbox.TooOldDrop})
	require.NoError(t, err)
	id := madeAgo(10 * day)
	_, err = process(t, first, id, func(context.Context) error {
		m := maintenance(t, env, pginbox.MaintenanceConfig{Retention: 5 * day, DetachTimeout: 50 * time.Millisecond})
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, report.Busy, "the handler holds the range")
		outcome, err := process(t, second, id, nothing)
		require.ErrorIs(t, err, inbox.ErrBusy)
		require.Equal(t, inbox.OutcomeBusy, outcome)
		return context.Canceled
	})
	require.ErrorIs(t, err, context.Canceled)

	// The detaching that was cancelled is finished.
	report := remember(t, env, 5*day, false)
	require.Len(t, report.Dropped, 1)
	_, err = process(t, first, id, nothing)
	require.ErrorIs(t, err, driver.ErrTooOld)
	require.Zero(t, effects(t, env, id))
}

func TestI7_TooNewIsRefused(t *testing.T) {
	t.Parallel()
	var heard edges
	env := forgetting(t, pginbox.MaintenanceConfig{})
	for kind, p := range stores(t, env, pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{&heard}}}) {
		id := madeAgo(-30 * day)
		_, err := process(t, p, id, write(id))
		require.ErrorIs(t, err, driver.ErrTooNew, kind)
		require.True(t, inbox.ShouldPoison(err))
		require.Contains(t, heard.kinds(), pginbox.AlarmTooNew)
		require.Zero(t, effects(t, env, id))
	}
}

// TestI7_MissingRangeIsMade: maintenance has not run, or an old message comes for the
// first time. Its range is made at once, and people hear of it.
func TestI7_MissingRangeIsMade(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var heard edges
			env := forgetting(t, pginbox.MaintenanceConfig{})
			p := stores(t, env, pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{&heard}}})[kind]
			for _, age := range []time.Duration{0, -30 * time.Minute, 3 * day, 100 * day, 3 * day} {
				id := madeAgo(age)
				for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
					outcome, err := process(t, p, id, write(id))
					require.NoError(t, err)
					require.Equal(t, want, outcome)
				}
				require.Equal(t, 1, effects(t, env, id))
			}
			require.GreaterOrEqual(t, len(heard.kinds()), 3)
			require.Contains(t, heard.kinds(), pginbox.AlarmRangeMissing)
		})
	}
}

// TestI7_RangeIsNeverMadeBelowTheFloor: made again it would be empty, and what was
// forgotten would run.
func TestI7_RangeIsNeverMadeBelowTheFloor(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	report := remember(t, env, 5*day, false)
	for _, age := range []time.Duration{time.Minute, day, 5*day + time.Hour, 30 * day} {
		_, err = process(t, p, uuidBefore(t, report.Floor, age), nothing)
		require.ErrorIs(t, err, driver.ErrTooOld)
	}
	_, err = process(t, p, uuidBefore(t, report.Floor, -time.Minute), nothing)
	require.NoError(t, err)

	// The floor stays where it is, whatever a later configuration says.
	again := remember(t, env, 60*day, false)
	require.Equal(t, report.Floor, again.Floor)
}

func uuidBefore(t *testing.T, at time.Time, by time.Duration) string {
	t.Helper()
	return madeAgo(time.Since(at) + by)
}

// TestI7_WhereThereIsNoRightToMakeARange the message is refused with a word.
func TestI7_WhereThereIsNoRightToMakeARange(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	role := "least_" + uuid.NewString()
	_, err := env.Pool.Exec(t.Context(), `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`";
		GRANT SELECT, INSERT ON leat.inbox, leat.inbox_consumers, leat.inbox_ranges TO "`+role+`"; GRANT UPDATE (ids) ON leat.inbox_consumers TO "`+role+`";
		GRANT SELECT ON leat.inbox_retention, leat.inbox_parked TO "`+role+`"`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := env.Pool.Exec(context.Background(), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
		require.NoError(t, err)
	})
	p, err := pginbox.New(asRole(t, env, role), "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, p, madeAgo(0), nothing)
	require.ErrorIs(t, err, pginbox.ErrNoRange)
	require.False(t, inbox.ShouldPoison(err))

	remember(t, env, 5*day, false) // makes the range
	_, err = process(t, p, madeAgo(0), nothing)
	require.NoError(t, err)
	_, err = process(t, p, madeAgo(30*day), nothing)
	require.ErrorIs(t, err, driver.ErrTooOld)
}

func asRole(t *testing.T, env *testenv.Database, role string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(env.URL)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["role"] = role
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// TestOtherIDsHaveAPlaceOfTheirOwn: neither the version nor the variant alone makes an
// id tell its time, and text ids tell none.
func TestOtherIDsHaveAPlaceOfTheirOwn(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	variant := uuid.MustParse(madeAgo(0))
	variant[8] = 0xc0 | variant[8]&0x3f
	for _, id := range []string{"order-1", uuid.NewString(), variant.String()} {
		for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
			outcome, err := process(t, p, id, nothing)
			require.NoError(t, err)
			require.Equal(t, want, outcome)
		}
	}
	var plain, ranged int
	err = env.Pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM leat.inbox), (SELECT count(*) FROM leat.inbox_ranges)`).Scan(&plain, &ranged)
	require.NoError(t, err)
	require.Equal(t, []int{3, 0}, []int{plain, ranged})
}
