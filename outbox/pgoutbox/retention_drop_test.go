package pgoutbox_test

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// TestO2_DropWaits: a transaction that has written to a range is still open when the range is about to be
// dropped. It commits; a DROP that had only checked before would take its row with it.
func TestO2_DropWaits(t *testing.T) {
	t.Parallel()
	t.Run("wrong", func(t *testing.T) {
		t.Parallel()
		ob, db := smallRanges(t)
		s := acquire(t, ob, "")
		late := begin(t, ob, db).put("late", "late")
		putMany(t, ob, 0, 25)
		settle(t, s)
		drop := begin(t, ob, db)
		require.Equal(t, 9, query1[int](t, db, "SELECT count(*) FROM leat.outbox_p1"), "all that can be seen is settled")
		done := make(chan error, 1)
		go func() {
			_, err := drop.Exec(t.Context(), "DROP TABLE leat.outbox_p1")
			done <- err
		}()
		awaitBlocked(t, db, drop.pid())
		late.commit()
		require.NoError(t, <-done)
		drop.commit()
		require.Empty(t, readAll(t, s, 10), "negative control: late was committed and never comes")
	})
	t.Run("ours", func(t *testing.T) {
		t.Parallel()
		ob, db := smallRanges(t)
		s := acquire(t, ob, "")
		late := begin(t, ob, db).put("late", "late")
		putMany(t, ob, 0, 25)
		settle(t, s)
		cfg := atOnce()
		cfg.LockTimeout = 30 * time.Second
		m := maintenance(t, ob, cfg)
		done := make(chan admin.MaintenanceReport, 1)
		// The round waits for late with its first lock, that of the ranges ahead.
		go func() {
			r, err := m.RunOnce(t.Context())
			if err != nil {
				r.Busy = true
			}
			done <- r
		}()
		await(t, "maintenance waits", func() bool {
			return query1[int](t, db, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
		})
		late.commit()
		report := <-done
		require.False(t, report.Busy)
		require.Empty(t, report.Dropped)
		require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
		require.Len(t, once(t, m).Dropped, 2)
	})
}

// TestO2_DropWaits_SharedLock makes the drop of a range wait for the lock of the range itself, with
// everything else settled.
func TestO2_DropWaits_SharedLock(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	m := maintenance(t, ob, atOnce())
	s := acquire(t, ob, "")
	putMany(t, ob, 0, 9)
	once(t, m) // so that there are ranges ahead
	late := begin(t, ob, db).put("late", "late")
	putMany(t, ob, 9, 15)
	settle(t, s)
	report := once(t, m)
	require.True(t, report.Busy)
	require.Empty(t, report.Dropped)
	late.commit()
	report = once(t, m)
	require.False(t, report.Busy)
	require.Empty(t, report.Dropped, "late is not settled")
	require.Equal(t, []string{"late"}, payloads(readAll(t, s, 10)))
	require.Len(t, once(t, m).Dropped, 2)
}

// TestO2_DropWaits_Faults: whatever fault hits right before the DROP, the range is either there or gone,
// and in the end it is dropped.
func TestO2_DropWaits_Faults(t *testing.T) {
	t.Parallel()
	for name, action := range map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"cut":    failpointtest.Call(nil),
		"panic":  failpointtest.Panic(),
		"cancel": failpointtest.Call(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ob, db := smallRanges(t)
			if name == "cut" {
				action = failpointtest.Call(func(ctx context.Context) error {
					_, err := db.Pool.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
						WHERE datname = current_database() AND state = 'idle in transaction'`)
					return err
				})
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if name == "cancel" {
				action = failpointtest.Cancel(cancel)
			}
			m := maintenance(t, ob, atOnce())
			s := acquire(t, ob, "")
			putMany(t, ob, 0, 25)
			settle(t, s)
			var points failpointtest.Registry
			require.NoError(t, points.EnableAt(failpoint.RelayDropWaits, 1, action))
			faulty := func() {
				report, err := m.RunOnce(failpointtest.With(ctx, &points))
				require.Error(t, err)
				require.Empty(t, report.Dropped)
			}
			if name == "panic" {
				require.Panics(t, faulty)
			} else {
				require.NotPanics(t, faulty)
			}
			require.Equal(t, 25, stored(t, db))
			require.Len(t, once(t, m).Dropped, 2)
			require.Equal(t, 1, points.Hits(failpoint.RelayDropWaits))
		})
	}
}

// TestO14_DropWaits_Zombie: a process that sleeps past its lease right before the DROP does not block
// others forever. Another one takes over, and the sleeper does no harm when it wakes up.
func TestO14_DropWaits_Zombie(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	cfg := atOnce()
	cfg.Lease = time.Second
	zombie, heir := maintenance(t, ob, cfg), maintenance(t, ob, cfg)
	putMany(t, ob, 0, 25)
	settle(t, acquire(t, ob, ""))
	released := make(chan struct{})
	var points failpointtest.Registry
	require.NoError(t, points.EnableAt(failpoint.RelayDropWaits, 1, failpointtest.Call(func(context.Context) error {
		<-released // deaf to its context, as a process that was stopped
		return nil
	})))
	done := make(chan error, 1)
	reached := points.Reached(failpoint.RelayDropWaits, 1)
	go func() {
		_, err := zombie.RunOnce(failpointtest.With(t.Context(), &points))
		done <- err
	}()
	<-reached
	_, err := heir.RunOnce(t.Context())
	require.ErrorIs(t, err, driver.ErrLeaseHeld)
	exec(t, db, "UPDATE leat.outbox_leases SET owner = NULL, epoch = epoch + 1 WHERE relay_group = '_maintenance'")
	report := once(t, heir)
	require.True(t, report.Busy, "the zombie's lock")
	require.Empty(t, report.Dropped)
	close(released)
	require.ErrorIs(t, <-done, driver.ErrLeaseLost)
	require.Len(t, once(t, heir).Dropped, 2)
	require.Equal(t, 5, stored(t, db))
}

// TestO2_DropWaits_ProcessDies ends the process right before the DROP, while its transaction holds the
// lock on the range: the range stays, and the next process drops it.
//
//leat:level 4
func TestO2_DropWaits_ProcessDies(t *testing.T) {
	t.Parallel()
	ob, db := smallRanges(t)
	s := acquire(t, ob, "")
	putMany(t, ob, 0, 25)
	settle(t, s)
	child := osexec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), envMaintainer+"="+db.URL, failpointtest.EnvPoints+"="+string(failpoint.RelayDropWaits)+"=exit@1")
	output, err := child.CombinedOutput()
	exit, ok := errors.AsType[*osexec.ExitError](err)
	require.True(t, ok, "%v %s", err, output)
	require.Equal(t, failpointtest.ExitStatus, exit.ExitCode(), "%s", output)
	require.Equal(t, 25, stored(t, db))
	exec(t, db, "UPDATE leat.outbox_leases SET owner = NULL, epoch = epoch + 1 WHERE relay_group = '_maintenance'")
	m := maintenance(t, ob, atOnce())
	await(t, "the server has noticed", func() bool { return !once(t, m).Busy })
	require.Equal(t, 5, stored(t, db))
	putMany(t, ob, 25, 3)
	require.Len(t, readAll(t, s, 10), 3)
}
