package pginbox_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/outbox"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

func TestNewMaintenanceRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1/nowhere")
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for want, cfg := range map[string]pginbox.MaintenanceConfig{
		"Width = 1ms: must be 1s to 8784h":                     {Width: time.Millisecond},
		"Retention = 1h0m0s: must be at least Width = 24h0m0s": {Retention: time.Hour},
		"Ahead = 101: must be 1 to 100":                        {Ahead: 101},
		"KeepOther = 1s: must be at least 1m, or 0":            {KeepOther: time.Second},
		"KeepAudit = 1h0m0s: must be at least 24h, or 0":       {KeepAudit: time.Hour},
		"Interval = 1ns: must be at least 1ms":                 {Interval: 1},
		"Lease = 1ms: must be at least 1s":                     {Lease: time.Millisecond},
		"LockTimeout = 1h0m0s: must be 1ms to 1m":              {LockTimeout: time.Hour},
		"DetachTimeout = -1ns: must be at least 1ms":           {DetachTimeout: -1},
		"DeleteChunk = -1: must be 1 to 100000":                {DeleteChunk: -1},
	} {
		_, err := pginbox.NewMaintenance(pool, pginbox.Config{}, cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
	_, err = pginbox.NewMaintenance(nil, pginbox.Config{}, pginbox.MaintenanceConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	_, err = pginbox.NewMaintenance(pool, pginbox.Config{Table: "\n"}, pginbox.MaintenanceConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	for want, cfg := range map[string]pginbox.Config{
		`TooOld = "never": must be park, process or drop`: {TooOld: "never"},
		"MaxAhead = -1ns: must be positive":               {MaxAhead: -1},
	} {
		_, err := pginbox.New(pool, "c", cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}

func TestRetentionNeeds_Check(t *testing.T) {
	t.Parallel()
	needs := pginbox.RetentionNeeds{Topic: 7 * day, Replay: 7 * day, Outage: day}
	require.NoError(t, needs.Check(7*day))
	require.NoError(t, pginbox.RetentionNeeds{Topic: -1}.Check(-1))
	require.NoError(t, pginbox.RetentionNeeds{}.Check(day))
	err := needs.Check(5 * day)
	require.ErrorContains(t, err, "remembers less than what can be delivered again")
	require.ErrorContains(t, err, "Retention = 120h0m0s is below Topic = 168h0m0s by 48h0m0s")
	require.ErrorContains(t, err, "below Replay")
	require.NotContains(t, err.Error(), "Outage")
	err = pginbox.RetentionNeeds{Topic: -1}.Check(5 * day)
	require.ErrorContains(t, err, "Topic is without end")
}

func TestStorageEstimate(t *testing.T) {
	t.Parallel()
	perID := pginbox.MaintenanceConfig{Retention: time.Second}.StorageEstimate(1)
	require.Positive(t, perID)
	require.Equal(t, perID*1000*86400, pginbox.MaintenanceConfig{Retention: day}.StorageEstimate(1000))
	require.Zero(t, pginbox.MaintenanceConfig{Retention: day}.StorageEstimate(-1))
	require.Zero(t, pginbox.MaintenanceConfig{Retention: day}.StorageEstimate(math.NaN()))
	require.Equal(t, int64(math.MaxInt64), pginbox.MaintenanceConfig{Retention: day}.StorageEstimate(1e300))
}

// TestStorageEstimateHolds within half of what a claim really costs.
func TestStorageEstimateHolds(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	_, err := maintenance(t, env, pginbox.MaintenanceConfig{}).RunOnce(t.Context())
	require.NoError(t, err)
	const rows = 50_000
	_, err = env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox_ranges
		SELECT 1, (lpad(to_hex($1::bigint + n / 20), 12, '0') || '7' || substr(md5(n::text), 1, 3) || '8' || substr(md5(n::text), 4, 15))::uuid
		FROM generate_series(1, $2) n`, time.Now().Truncate(day).UnixMilli(), rows)
	require.NoError(t, err)
	var size int64
	err = env.Pool.QueryRow(t.Context(), `SELECT sum(pg_total_relation_size(inhrelid))::bigint FROM pg_inherits
		WHERE inhparent = 'leat.inbox_ranges'::regclass`).Scan(&size)
	require.NoError(t, err)
	require.InEpsilon(t, pginbox.MaintenanceConfig{Retention: time.Second}.StorageEstimate(rows), size, 0.5)
}

// TestMaintenanceMakesRangesAhead, and no more of them the next time.
func TestMaintenanceMakesRangesAhead(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	var heard edges
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{&heard}}})
	require.NoError(t, err)
	m := maintenance(t, env, pginbox.MaintenanceConfig{Ahead: 2})
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Added, 3)
	require.WithinDuration(t, time.Now().Add(-14*day), report.Floor, day+time.Minute)
	report, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Empty(t, report.Added)
	_, err = process(t, p, madeAgo(-10*time.Hour), nothing)
	require.NoError(t, err)
	require.Empty(t, heard.kinds())

	// Another width fits beside what is there.
	report, err = maintenance(t, env, pginbox.MaintenanceConfig{Ahead: 1, Width: 5 * day}).RunOnce(t.Context())
	require.NoError(t, err)
	require.Len(t, report.Added, 1)
	for _, ago := range []time.Duration{0, -3 * day, -4 * day, day, 2 * day, 6 * day} {
		_, err = process(t, p, madeAgo(ago), nothing)
		if ago >= 0 {
			require.NoError(t, err)
		}
	}
}

// TestI1_PublishedInboxHasRangesAhead: a database that is copied to by logical replication lacks the
// ranges that are made meanwhile.
func TestI1_PublishedInboxHasRangesAhead(t *testing.T) {
	t.Parallel()
	for publication, added := range map[string]int{
		"FOR TABLE leat.inbox_ranges WITH (publish_via_partition_root = true)": 27, "FOR TABLE leat.inbox_ranges": 27, "FOR TABLE leat.inbox": 0,
	} {
		t.Run(publication, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{})
			m := maintenance(t, env, pginbox.MaintenanceConfig{})
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Len(t, report.Added, 4)
			_, err = env.Pool.Exec(t.Context(), "CREATE PUBLICATION p "+publication)
			require.NoError(t, err)
			report, err = m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Len(t, report.Added, added)
		})
	}
}

// TestMaintenanceWithoutDDL: a role that may only read and write rows.
func TestMaintenanceWithoutDDL(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
	role := "rows_" + uuid.NewString()
	_, err := env.Pool.Exec(t.Context(), `CREATE ROLE "`+role+`"; GRANT USAGE ON SCHEMA leat TO "`+role+`";
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA leat TO "`+role+`"`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := env.Pool.Exec(context.Background(), `DROP OWNED BY "`+role+`"; DROP ROLE "`+role+`"`)
		require.NoError(t, err)
	})
	pool := asRole(t, env, role)
	p, err := pginbox.New(pool, "c", pginbox.Config{})
	require.NoError(t, err)
	var forgotten []string
	for i := range 25 {
		forgotten = append(forgotten, madeAgo(20*day+time.Duration(i)*time.Minute))
		_, err = process(t, p, forgotten[i], nothing)
		require.NoError(t, err)
	}
	kept := madeAgo(10 * day)
	_, err = process(t, p, kept, nothing)
	require.NoError(t, err)
	m, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{NoDDL: true, DeleteChunk: 10})
	require.NoError(t, err)

	// A transaction that was open when the floor rose holds everything back.
	open, err := env.Pool.Begin(t.Context())
	require.NoError(t, err)
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.True(t, report.Busy)
	require.Zero(t, report.Deleted)
	require.NoError(t, open.Rollback(t.Context()))
	report, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(25), report.Deleted)
	_, err = process(t, p, forgotten[3], nothing)
	require.ErrorIs(t, err, driver.ErrTooOld)
	outcome, err := process(t, p, kept, nothing)
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeDuplicate, outcome)
}

// TestOtherIDsAreForgottenByArrival, and run again then: nothing can tell.
func TestOtherIDsAreForgottenByArrival(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	for _, id := range []string{"old", "young"} {
		_, err = process(t, p, id, write(id))
		require.NoError(t, err)
		if id == "old" {
			_, err = env.Pool.Exec(t.Context(), `UPDATE leat.inbox SET arrived = arrived - 3 * 24 * 60`)
			require.NoError(t, err)
		}
	}
	report := remember(t, env, 14*day, false)
	require.Zero(t, report.Deleted, "by default they are kept for ever")
	report, err = maintenance(t, env, pginbox.MaintenanceConfig{KeepOther: 2 * day}).RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), report.Deleted)
	for id, want := range map[string]inbox.Outcome{"old": inbox.OutcomeCommitted, "young": inbox.OutcomeDuplicate} {
		outcome, err := process(t, p, id, write(id))
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
}

// TestO14_ClockSetBack: the lease of a process that has died while the clock was an hour ahead holds nobody up.
func TestO14_ClockSetBack(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	for ahead, want := range map[string]error{"0": outboxdriver.ErrLeaseHeld, "1 hour": nil} {
		_, err := env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET owner = 'another', lease_from = now() + $1::interval - interval '1 minute',
			lease_until = now() + $1::interval + interval '1 minute'`, ahead)
		require.NoError(t, err)
		_, err = m.RunOnce(t.Context())
		require.ErrorIs(t, err, want)
	}
}

func TestMaintenanceIsDoneByOne(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	_, err := env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET owner = 'another', lease_until = now() + interval '1 hour'`)
	require.NoError(t, err)
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	_, err = m.RunOnce(t.Context())
	require.ErrorIs(t, err, outboxdriver.ErrLeaseHeld)
	_, err = env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET lease_until = now() - interval '1 second'`)
	require.NoError(t, err)
	_, err = m.RunOnce(t.Context())
	require.NoError(t, err)
	var owner *string
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT owner FROM leat.inbox_retention`).Scan(&owner))
	require.Nil(t, owner, "the lease is given back")
}

// alarmed is an AlarmHook.
type alarmed chan outbox.AlarmEvent

func (a alarmed) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) { a <- e }

// TestMaintenanceRuns until its context ends, and warns where it remembers too little.
func TestMaintenanceRuns(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	warned := make(alarmed, 10)
	m := maintenance(t, env, pginbox.MaintenanceConfig{
		Interval: 10 * time.Millisecond,
		Needs:    pginbox.RetentionNeeds{Topic: -1},
		Hooks:    []outbox.Hook{warned},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	alarm := <-warned
	require.Equal(t, pginbox.AlarmRetention, alarm.Kind)
	require.Contains(t, alarm.Detail, "remembers less than what can be delivered again")
	_, err := m.RunOnce(t.Context())
	require.ErrorIs(t, err, outbox.ErrAlreadyRunning)
	require.Eventually(t, func() bool {
		var n int
		err := env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_inherits WHERE inhparent = 'leat.inbox_ranges'::regclass`).Scan(&n)
		return err == nil && n == 4
	}, time.Minute, 10*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

// TestI7_ClockThatJumps: a database's clock that is ahead, by years or by less than an hour, makes no message too old and
// deletes no id, whether it tells a time or not, and nothing of the audit.
func TestI7_ClockThatJumps(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"10 years", "30 minutes", "-30 minutes"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			env := forgetting(t, pginbox.MaintenanceConfig{})
			var heard edges
			m, err := pginbox.NewMaintenance(env.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{
				Width: time.Hour, Retention: 2 * time.Hour, KeepOther: 2 * time.Hour, Hooks: []outbox.Hook{&heard},
			})
			require.NoError(t, err)
			before, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.False(t, before.Floor.IsZero())
			require.Empty(t, heard.kinds())
			p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
			require.NoError(t, err)
			messages := []string{"no time in it", madeAgo(time.Minute)}
			for _, id := range messages {
				_, err = process(t, p, id, nothing)
				require.NoError(t, err)
			}
			clocks := []string{"clock_timestamp", "statement_timestamp"}
			clock := func(by string) {
				for _, name := range clocks {
					_, err := env.Pool.Exec(t.Context(), `CREATE OR REPLACE FUNCTION pg_catalog.`+name+`() RETURNS timestamptz
						LANGUAGE sql AS $$ SELECT pg_catalog.right_`+name+`() + interval '`+by+`' $$`)
					require.NoError(t, err)
				}
				env.Pool.Reset() // plans were made with the other function
			}
			_, err = env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox_audit (action, actor, reason, consumer, parked_no, topic) VALUES ('a', '', '', 0, 0, '')`)
			require.NoError(t, err)
			for _, name := range clocks {
				_, err = env.Pool.Exec(t.Context(), `ALTER FUNCTION pg_catalog.`+name+`() RENAME TO right_`+name)
				require.NoError(t, err)
			}
			for _, by := range []string{by, "0"} {
				clock(by)
				report, err := m.RunOnce(t.Context())
				require.NoError(t, err)
				fresh, err := maintenance(t, env, pginbox.MaintenanceConfig{Width: time.Hour, Retention: 365 * day, KeepAudit: day}).RunOnce(t.Context())
				require.NoError(t, err)
				require.Zero(t, fresh.PrunedAudit)
				if by != "0" {
					require.Equal(t, before.Floor, report.Floor)
				}
				require.Zero(t, report.Deleted)
				require.Equal(t, []outbox.AlarmKind{pginbox.AlarmClock}, heard.kinds(), "raised once, and not when it is back")
				for _, id := range messages {
					outcome, err := process(t, p, id, nothing)
					require.NoError(t, err)
					require.Equal(t, inbox.OutcomeDuplicate, outcome)
				}
			}
		})
	}
}

// TestI7_FloorRisesSlowly: clocks of database and process that are wrong together cannot be told. They take the floor along
// by an hour at once, and not by 30 days.
func TestI7_FloorRisesSlowly(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
	before := remember(t, env, 30*day, true)
	after := remember(t, env, day, true)
	require.Equal(t, time.Hour, after.Floor.Sub(before.Floor))
}

// TestMaintenanceDropsWhatWasDetached by a process that died then.
func TestMaintenanceDropsWhatWasDetached(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, p, madeAgo(30*day), nothing)
	require.NoError(t, err)
	var table string
	err = env.Pool.QueryRow(t.Context(), `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'leat.inbox_ranges'::regclass`).Scan(&table)
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `ALTER TABLE leat.inbox_ranges DETACH PARTITION `+table)
	require.NoError(t, err)
	_, err = env.Pool.Exec(t.Context(), `CREATE TABLE leat.inbox_r_mine (a int); CREATE TABLE leat.inbox_rffffffffffff (a int)`)
	require.NoError(t, err)
	remember(t, env, 14*day, false)
	var left []string
	err = env.Pool.QueryRow(t.Context(), `SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
		WHERE relkind = 'r' AND relname LIKE 'inbox\_r%' AND NOT relispartition AND relname <> 'inbox_retention'`).Scan(&left)
	require.NoError(t, err)
	require.Equal(t, []string{"inbox_r_mine", "inbox_rffffffffffff"}, left)
}

// TestMaintenanceReportsABusyTable: somebody keeps the table for himself.
func TestMaintenanceReportsABusyTable(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = process(t, p, madeAgo(30*day), nothing)
	require.NoError(t, err)
	var heard edges
	again, err := process(t, p, madeAgo(10*day), func(context.Context) error {
		m := maintenance(t, env, pginbox.MaintenanceConfig{Retention: 5 * day, DetachTimeout: time.Millisecond, Hooks: []outbox.Hook{&heard}})
		report, err := m.RunOnce(t.Context())
		require.NoError(t, err)
		require.True(t, report.Busy)
		return errors.New("no")
	})
	require.Error(t, err)
	require.Equal(t, inbox.OutcomeFailed, again)
	require.Contains(t, heard.kinds(), pginbox.AlarmBusy)
}

// TestMaintenanceEndsNoDelivery: at SERIALIZABLE by default, what maintenance reads and
// deletes does not make the server end a delivery that runs. It would be claimed again, and
// may be too old by then.
func TestMaintenanceEndsNoDelivery(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: true})
	config, err := pgxpool.ParseConfig(env.URL)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	p, err := pginbox.New(pool, "c", pginbox.Config{})
	require.NoError(t, err)
	for _, id := range []string{madeAgo(20 * day), "no time in it"} {
		_, err = process(t, p, id, nothing)
		require.NoError(t, err)
	}
	m, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{NoDDL: true, KeepOther: time.Hour})
	require.NoError(t, err)
	open, err := env.Pool.Begin(t.Context())
	require.NoError(t, err)
	report, err := m.RunOnce(t.Context())
	require.NoError(t, err)
	require.True(t, report.Busy, "it deletes when this transaction has ended")
	require.NoError(t, open.Rollback(t.Context()))

	runs := 0
	outcome, err := process(t, p, madeAgo(day), func(ctx context.Context) error {
		if runs++; runs == 1 {
			report, err = m.RunOnce(ctx)
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, inbox.OutcomeCommitted, outcome)
	require.Equal(t, int64(1), report.Deleted)
	require.Equal(t, 1, runs, "the server has ended it")
}
