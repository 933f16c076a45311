package pginbox_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// TestEnableOnALiveInbox: what is there stays where it is; what is made after the
// cut-over goes to the ranges, whatever a connection or an older release believes.
func TestEnableOnALiveInbox(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	before := stores(t, env, pginbox.Config{MaxAhead: 72 * time.Hour})
	old, text := madeAgo(10*day), "order-1"
	for _, p := range before { // whose connections know nothing of ranges from now on
		for _, id := range []string{old, text} {
			_, err := process(t, p, id, write(id))
			require.NoError(t, err)
		}
	}
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	_, err := m.RunOnce(t.Context())
	require.ErrorIs(t, err, pginbox.ErrNotEnabled)
	require.ErrorIs(t, m.Run(t.Context()), pginbox.ErrNotEnabled)
	require.NoError(t, m.Enable(t.Context()))
	require.NoError(t, m.Enable(t.Context()), "again")
	require.Zero(t, rows(t, env, "inbox_ranges"))

	next := madeAgo(-50 * time.Hour) // beyond the cut-over
	for kind, p := range before {
		for _, id := range []string{old, text} {
			outcome, err := process(t, p, id, write(id))
			require.NoError(t, err, kind)
			require.Equal(t, inbox.OutcomeDuplicate, outcome)
		}
		for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
			outcome, err := process(t, p, next, write(next))
			require.NoError(t, err, kind)
			require.Equal(t, want, outcome)
		}
		id := madeAgo(0)
		_, err := process(t, p, id, write(id))
		require.NoError(t, err)
	}
	require.Equal(t, 2, rows(t, env, "inbox_ranges"))
	require.Equal(t, 6, rows(t, env, "inbox"))
	_, err = env.Pool.Exec(t.Context(), `INSERT INTO leat.inbox (consumer, id) VALUES (1, $1) ON CONFLICT DO NOTHING`, madeAgo(-50*time.Hour))
	require.ErrorContains(t, err, "inbox_no_ranged_ids", "an older release is refused")
}

// TestI7_ContractionOfThePlainTable: when the cut-over is below the floor the plain table
// takes no id of version 7 any more, and only then are those in it forgotten.
func TestI7_ContractionOfThePlainTable(t *testing.T) {
	t.Parallel()
	for mode, noDDL := range modes {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			env := testenv.Postgres(t, template)
			ps := stores(t, env, pginbox.Config{})
			old, text := madeAgo(30*day), "order-1"
			for _, p := range ps {
				for _, id := range []string{old, text} {
					_, err := process(t, p, id, write(id))
					require.NoError(t, err)
				}
			}
			m := maintenance(t, env, pginbox.MaintenanceConfig{NoDDL: noDDL})
			require.NoError(t, m.Enable(t.Context()))
			for _, p := range ps { // their connections know the cut-over now
				_, err := process(t, p, old, nothing)
				require.NoError(t, err)
			}
			_, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, 4, rows(t, env, "inbox"), "the cut-over is not below the floor")
			age(t, env, 20*day)
			for _, p := range ps {
				outcome, err := process(t, p, old, nothing)
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeDuplicate, outcome)
			}
			if noDDL {
				require.NoError(t, m.Enable(t.Context()))
			}
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.Equal(t, int64(2), report.Deleted)
			for _, p := range ps {
				_, err := process(t, p, old, nothing)
				require.ErrorIs(t, err, driver.ErrTooOld)
				outcome, err := process(t, p, text, nothing)
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeDuplicate, outcome)
			}
			var legacy bool
			require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT legacy FROM leat.inbox_retention`).Scan(&legacy))
			require.False(t, legacy)
		})
	}
}

// age moves the cut-over into the past, as time does.
func age(t *testing.T, env *testenv.Database, by time.Duration) {
	t.Helper()
	cutover := uuid.MustParse(madeAgo(by))
	copy(cutover[6:], make([]byte, 10))
	_, err := env.Pool.Exec(t.Context(), `ALTER TABLE leat.inbox DROP CONSTRAINT inbox_no_ranged_ids;
		ALTER TABLE leat.inbox ADD CONSTRAINT inbox_no_ranged_ids CHECK (id < '`+cutover.String()+`'
			OR get_byte(uuid_send(id), 6) >> 4 <> 7 OR get_byte(uuid_send(id), 8) >> 6 <> 2) NOT VALID;
		UPDATE leat.inbox_retention SET cutover = '`+cutover.String()+`'`)
	require.NoError(t, err)
}

func TestEnableRefusesIDsFromTheFuture(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	far := madeAgo(-1000 * day)
	_, err = process(t, p, far, nothing)
	require.NoError(t, err)
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	require.ErrorContains(t, m.Enable(t.Context()), far)

	// It came after Enable had looked, and before the constraint.
	halfway(t, env)
	other := madeAgo(-1000 * day)
	_, err = process(t, p, other, nothing)
	require.ErrorContains(t, err, "is being switched to ranges")
	require.ErrorContains(t, m.Enable(t.Context()), "claims to be from the future")
	outcome, err := process(t, p, other, nothing)
	require.NoError(t, err, "all is as it was")
	require.Equal(t, inbox.OutcomeCommitted, outcome)

	_, err = env.Pool.Exec(t.Context(), `DELETE FROM leat.inbox WHERE id = ANY ($1)`, []string{far, other})
	require.NoError(t, err)
	require.NoError(t, m.Enable(t.Context()))
}

// TestMaintenanceFinishesEnable: Enable died before it was through.
func TestMaintenanceFinishesEnable(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	halfway(t, env)
	_, err := maintenance(t, env, pginbox.MaintenanceConfig{}).RunOnce(t.Context())
	require.NoError(t, err)
	var mode string
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT mode FROM leat.inbox_retention`).Scan(&mode))
	require.Equal(t, "ranges", mode)
}

// halfway leaves the inbox as an Enable does that dies.
func halfway(t *testing.T, env *testenv.Database) {
	t.Helper()
	cutover := madeAgo(-day)
	_, err := env.Pool.Exec(t.Context(), `UPDATE leat.inbox_retention SET mode = 'pending', cutover = '`+cutover+`', legacy = true;
		ALTER TABLE leat.inbox ADD CONSTRAINT inbox_no_ranged_ids CHECK (id < '`+cutover+`') NOT VALID`)
	require.NoError(t, err)
}

// TestEnableWaitsForNobodyLong: a handler is open, and claims go on beside an Enable that
// gives up in the end.
func TestEnableWaitsForNobodyLong(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	m := maintenance(t, env, pginbox.MaintenanceConfig{LockTimeout: 5 * time.Millisecond})
	_, err = process(t, p, madeAgo(0), func(context.Context) error {
		require.ErrorContains(t, m.Enable(t.Context()), "55P03")
		_, err := process(t, p, madeAgo(0), nothing)
		require.NoError(t, err)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, m.Enable(t.Context()))
}

// TestI1_EnableUnderLoad switches while deliveries come, each message from four workers;
// those of the new side follow at once, on connections that know the old one.
func TestI1_EnableUnderLoad(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t, template)
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{MaxAhead: 100 * time.Hour, Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	_, err = process(t, p, madeAgo(0), nothing)
	require.NoError(t, err)
	const messages = 400
	all := make([]string, messages)
	for i := range all {
		all[i] = madeAgo(time.Duration(i) * time.Minute)
		if i >= messages/2 {
			all[i] = madeAgo(-30*time.Hour - time.Duration(i)*time.Minute) // beyond the cut-over
		}
	}
	enabled := make(chan struct{})
	errs := make([]error, 4)
	var group sync.WaitGroup
	for worker := range errs {
		group.Go(func() {
			for i, id := range all {
				if i == messages/2 {
					<-enabled
				}
				if errs[worker] = deliverUntilAcked(t.Context(), p, id); errs[worker] != nil {
					return
				}
			}
		})
	}
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	for err = m.Enable(t.Context()); err != nil; err = m.Enable(t.Context()) {
		require.ErrorContains(t, err, "55P03")
	}
	close(enabled)
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	var total, doubles int
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT count(*), count(*) - count(DISTINCT effect) FROM effects`).Scan(&total, &doubles))
	require.Equal(t, []int{messages, 0}, []int{total, doubles})
	require.Equal(t, messages/2, rows(t, env, "inbox_ranges"))
}

// deliverUntilAcked delivers a message until it is acknowledged; only what is to pass
// keeps it going.
func deliverUntilAcked(ctx context.Context, p *pginbox.Inbox, id string) error {
	for {
		_, err := p.Process(ctx, bare(id), write(id))
		if !errors.Is(err, inbox.ErrBusy) && !errors.Is(err, pginbox.ErrNoRange) {
			return err
		}
	}
}

func TestMaintenanceWithoutASchema(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	m := maintenance(t, env, pginbox.MaintenanceConfig{})
	require.ErrorIs(t, m.Enable(t.Context()), outbox.ErrNotMigrated)
	require.ErrorIs(t, m.Run(t.Context()), outbox.ErrNotMigrated)
}

func rows(t *testing.T, env *testenv.Database, table string) (n int) {
	t.Helper()
	require.NoError(t, env.Pool.QueryRow(t.Context(), `SELECT count(*) FROM leat.`+table).Scan(&n))
	return n
}
