package pginbox_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	outboxdriver "github.com/leat-go/leat/outbox/driver"
)

// TestI7_ClaimsWhileRangesComeAndGo delivers messages of many ages again and again, some
// handlers failing, while rounds forget them range by range, and some ranges are to be
// made on the way. Nothing runs twice, and what is not too old has run.
func TestI7_ClaimsWhileRangesComeAndGo(t *testing.T) {
	t.Parallel()
	comeAndGo(t, false, pgx.ReadCommitted)
}

// TestI7_ClaimsWhileRangesComeAndGo_RepeatableRead_Deletes does the same where ids are deleted.
//
//leat:level 2
func TestI7_ClaimsWhileRangesComeAndGo_RepeatableRead_Deletes(t *testing.T) {
	t.Parallel()
	comeAndGo(t, true, pgx.RepeatableRead)
}

// TestI7_ClaimsWhileRangesComeAndGo_Serializable_Drops does the same with conflicts.
//
//leat:level 2
func TestI7_ClaimsWhileRangesComeAndGo_Serializable_Drops(t *testing.T) {
	t.Parallel()
	comeAndGo(t, false, pgx.Serializable)
}

// TestI7_ClaimsWhileRangesComeAndGo_Serializable_Deletes does the same with conflicts, where ids
// are deleted.
//
//leat:level 2
func TestI7_ClaimsWhileRangesComeAndGo_Serializable_Deletes(t *testing.T) {
	t.Parallel()
	comeAndGo(t, true, pgx.Serializable)
}

func comeAndGo(t *testing.T, noDDL bool, level pgx.TxIsoLevel) {
	t.Helper()
	const workers, messages, rounds = 6, 300, 12
	env := forgetting(t, pginbox.MaintenanceConfig{NoDDL: noDDL, Width: time.Hour})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{Isolation: level, Config: inbox.Config{
		BusyDelay: inbox.NoDelay, OnFailure: inbox.Policy{Delay: inbox.NoDelay},
	}})
	require.NoError(t, err)
	ids := make([]string, messages)
	acked, old := make([]atomic.Int64, messages), make([]atomic.Int64, messages)
	for i := range ids {
		ids[i] = madeAgo(time.Duration(i) * 24 * time.Hour / messages)
	}
	ctx, stop := context.WithCancel(t.Context())
	came, first := make(chan struct{}), sync.Once{} // there is something to forget
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for ctx.Err() == nil {
				i := rand.IntN(messages)
				_, err := p.Process(context.WithoutCancel(ctx), bare(ids[i]), func(ctx context.Context) error {
					if err := write(ids[i])(ctx); err != nil || rand.IntN(10) > 0 {
						return err
					}
					return errors.New("a handler failed")
				})
				switch {
				case err == nil:
					acked[i].Add(1)
					if i > messages*3/4 { // it goes in one of the rounds
						first.Do(func() { close(came) })
					}
				case errors.Is(err, driver.ErrTooOld):
					old[i].Add(1)
				}
			}
		})
	}
	<-came
	var gone int64
	for round := range rounds {
		m := maintenance(t, env, pginbox.MaintenanceConfig{
			Retention: time.Duration(24-round) * time.Hour, Width: time.Hour, NoDDL: noDDL, DetachTimeout: time.Minute,
		})
		for { // deleting waits for what was open, for a while
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			gone += int64(len(report.Dropped)) + report.Deleted
			if !report.Busy {
				break
			}
		}
	}
	stop()
	group.Wait()
	require.Positive(t, gone, "something was forgotten")
	settle(t, env, p, ids, acked, old)
}

// settle delivers each message until it is acknowledged or too old, and counts.
func settle(t *testing.T, env *testenv.Database, p *pginbox.Inbox, ids []string, acked, old []atomic.Int64) {
	t.Helper()
	tooOld := 0
	for i, id := range ids {
		_, err := process(t, p, id, write(id))
		for err != nil && !errors.Is(err, driver.ErrTooOld) {
			_, err = process(t, p, id, write(id))
		}
		n := effects(t, env, id)
		require.LessOrEqual(t, n, 1, "message %d ran twice", i)
		if err == nil || acked[i].Load() > 0 {
			require.Equal(t, 1, n, "message %d was acknowledged and did not run", i)
		}
		if err != nil {
			tooOld++
		} else {
			require.Zero(t, old[i].Load(), "message %d was too old once", i)
		}
	}
	require.Positive(t, tooOld)
	require.Less(t, tooOld, len(ids))
}

// TestTwoMaintainersAtOnce: the lease keeps them apart, and where it does not nothing
// goes wrong.
func TestTwoMaintainersAtOnce(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{Width: time.Hour})
	p, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	for age := range 20 {
		_, err := process(t, p, madeAgo(time.Duration(age)*time.Hour), nothing)
		require.NoError(t, err)
	}
	var group sync.WaitGroup
	errs := make([]error, 4)
	for i := range errs {
		m := maintenance(t, env, pginbox.MaintenanceConfig{Retention: 5 * time.Hour, Width: time.Hour})
		group.Go(func() {
			for range 10 {
				_, err := m.RunOnce(t.Context())
				if err != nil && !errors.Is(err, outboxdriver.ErrLeaseHeld) {
					errs[i] = err
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	for age := range 20 {
		_, err := process(t, p, madeAgo(time.Duration(age)*time.Hour+90*time.Second), nothing)
		if age > 6 {
			require.ErrorIs(t, err, driver.ErrTooOld)
		} else if age < 5 {
			require.NoError(t, err)
		}
	}
}
