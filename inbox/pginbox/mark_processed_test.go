package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// inboxes are those of both drivers, on an inbox with and one without ranges.
func inboxes(t *testing.T, cfg pginbox.Config, test func(t *testing.T, env *testenv.Database, in *pginbox.Inbox)) {
	t.Helper()
	for _, name := range []string{"plain", "ranges", "delete"} {
		for _, kind := range []string{"pgx", "sql"} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				env := testenv.Postgres(t, template)
				if name != "plain" {
					require.NoError(t, maintenance(t, env, pginbox.MaintenanceConfig{NoDDL: name == "delete"}).Enable(t.Context()))
				}
				in, err := pginbox.New(env.Pool, "c", cfg)
				if kind == "sql" {
					in, err = pginbox.NewSQL(env.SQL(t), "c", cfg)
				}
				require.NoError(t, err)
				test(t, env, in)
			})
		}
	}
}

func TestI1_MarkedMessagesAreDuplicates(t *testing.T) {
	t.Parallel()
	inboxes(t, pginbox.Config{}, func(t *testing.T, env *testenv.Database, in *pginbox.Inbox) {
		t.Helper()
		var all []string
		for i := range 1203 {
			id := fmt.Sprint("order-", i)
			if i%2 == 0 {
				id = madeAgo(time.Duration(i) * time.Minute)
			}
			all = append(all, id)
		}
		_, err := process(t, in, all[7], nothing)
		require.NoError(t, err)
		report, err := in.MarkProcessed(t.Context(), all...)
		require.NoError(t, err)
		require.Equal(t, pginbox.MarkReport{Marked: 1202, Known: 1}, report)
		report, err = in.MarkProcessed(t.Context(), append(all, all...)...)
		require.NoError(t, err)
		require.Zero(t, report.Marked)
		for _, id := range []string{all[0], all[1], all[1202]} {
			outcome, err := process(t, in, id, write(id))
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeDuplicate, outcome)
			require.Zero(t, effects(t, env, id))
		}
	})
}

// TestI1_MarkWhileTheConsumerRuns: each message either ran or was marked first, and marking
// waits for one that is running without anybody waiting for it.
func TestI1_MarkWhileTheConsumerRuns(t *testing.T) {
	t.Parallel()
	inboxes(t, pginbox.Config{}, func(t *testing.T, env *testenv.Database, in *pginbox.Inbox) {
		t.Helper()
		first, second := madeAgo(0), madeAgo(time.Minute)
		marked := make(chan pginbox.MarkReport, 1)
		errs := make(chan error, 1)
		_, err := process(t, in, first, func(context.Context) error {
			go func() {
				report, err := in.MarkProcessed(t.Context(), first, second)
				marked <- report
				errs <- err
			}()
			require.Eventually(t, func() bool { // the other one is marked meanwhile
				outcome, _ := in.Process(t.Context(), bare(second), nothing)
				return outcome == inbox.OutcomeDuplicate || outcome == inbox.OutcomeCommitted
			}, time.Minute, 5*time.Millisecond)
			require.Empty(t, marked)
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, <-errs)
		report := <-marked
		require.Equal(t, int64(2), report.Marked+report.Known)
		outcome, err := process(t, in, first, nothing)
		require.NoError(t, err)
		require.Equal(t, inbox.OutcomeDuplicate, outcome)
		require.Equal(t, 2, rows(t, env, "inbox_processed"))
	})
}

func TestMarkProcessedEndsAtAnError(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	in, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	_, err = in.MarkProcessed(t.Context(), "a", "")
	require.ErrorIs(t, err, inbox.ErrNoMessageID)
	broken := errors.New("the source broke")
	_, err = in.MarkProcessedFrom(t.Context(), func(yield func(string, error) bool) { yield("", broken) })
	require.ErrorIs(t, err, broken)
	_, err = in.MarkProcessed(t.Context(), madeAgo(-30*day))
	require.ErrorIs(t, err, driver.ErrTooNew)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = in.MarkProcessed(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)

	remember(t, env, 5*day, false)
	report, err := in.MarkProcessed(t.Context(), madeAgo(10*day), madeAgo(day), madeAgo(20*day))
	require.NoError(t, err)
	require.Equal(t, pginbox.MarkReport{Marked: 1, TooOld: 2}, report)
}

// observing is an ObserveHook.
type observing func(o pginbox.ObserveEvent)

func (f observing) OnPginboxObserve(_ context.Context, o pginbox.ObserveEvent) { f(o) }

// TestObserveSuppressesNothing, records all the same, and says what it would have done.
func TestObserveSuppressesNothing(t *testing.T) {
	t.Parallel()
	var all sync.Map
	observe := observing(func(o pginbox.ObserveEvent) {
		heard, _ := all.LoadOrStore(o.ID, &edges{})
		heard.(*edges).OnPginboxObserve(context.Background(), o)
	})
	inboxes(t, pginbox.Config{Observe: true, Config: inbox.Config{Hooks: []outbox.Hook{observe}}}, func(t *testing.T, env *testenv.Database, in *pginbox.Inbox) {
		t.Helper()
		id := madeAgo(time.Minute)
		for range 3 {
			outcome, err := process(t, in, id, write(id))
			require.NoError(t, err)
			require.Equal(t, inbox.OutcomeCommitted, outcome)
		}
		require.Equal(t, 3, effects(t, env, id))
		heard, _ := all.Load(id)
		require.Equal(t, []string{"duplicate", "duplicate"}, heard.(*edges).outcomes())

		busy := madeAgo(0)
		_, err := process(t, in, busy, func(context.Context) error {
			_, err := process(t, in, busy, write(busy))
			return err
		})
		require.NoError(t, err)
		heard, _ = all.Load(busy)
		require.Equal(t, []string{"busy"}, heard.(*edges).outcomes())
		require.Equal(t, 1, effects(t, env, busy))

		failed := madeAgo(2 * time.Minute)
		_, err = process(t, in, failed, func(context.Context) error { return context.Canceled })
		require.ErrorIs(t, err, context.Canceled)
		_, err = process(t, in, failed, write(failed))
		require.NoError(t, err)
		_, said := all.Load(failed)
		require.False(t, said, "a failed delivery is not remembered")
	})
}

func TestObserveLetsTooOldAndTooNewRun(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var heard edges
			env := forgetting(t, pginbox.MaintenanceConfig{})
			p := stores(t, env, pginbox.Config{Observe: true, Config: inbox.Config{Hooks: []outbox.Hook{&heard}}})[kind]
			remember(t, env, 5*day, false)
			for _, id := range []string{madeAgo(10 * day), madeAgo(-10 * day)} {
				_, err := process(t, p, id, write(id))
				require.NoError(t, err)
				require.Equal(t, 1, effects(t, env, id))
			}
			require.Equal(t, []string{"failed", "failed"}, heard.outcomes())
			require.ErrorIs(t, heard.seen[0].Err, driver.ErrTooOld)
			require.ErrorIs(t, heard.seen[1].Err, driver.ErrTooNew)
		})
	}
}

// TestI1_RollingOut replaces processes one after the other while messages are delivered
// twice: first without an inbox, then observing, then with it. Nothing is lost on the
// way. A second run needs a process of an earlier stage; with none left there is none.
func TestI1_RollingOut(t *testing.T) {
	t.Parallel()
	env := forgetting(t, pginbox.MaintenanceConfig{})
	observing, err := pginbox.New(env.Pool, "c", pginbox.Config{Observe: true})
	require.NoError(t, err)
	full, err := pginbox.New(env.Pool, "c", pginbox.Config{})
	require.NoError(t, err)
	type process func(ctx context.Context, id string) error
	without := func(ctx context.Context, id string) error {
		_, err := env.Pool.Exec(ctx, `INSERT INTO effects VALUES ($1)`, id)
		return err
	}
	through := func(in *pginbox.Inbox) process {
		return func(ctx context.Context, id string) error { return deliverUntilAcked(ctx, in, id) }
	}
	none, watching, all := process(without), through(observing), through(full)
	stages := []struct {
		processes [2]process
		most      int // runs of a message
	}{
		{[2]process{none, none}, 2},
		{[2]process{none, watching}, 2},
		{[2]process{watching, watching}, 2},
		{[2]process{watching, all}, 2},
		{[2]process{all, all}, 1},
	}
	for stage, s := range stages {
		const messages = 40
		sent := make([]string, messages)
		for i := range sent {
			sent[i] = madeAgo(time.Duration(i) * time.Second)
		}
		var group sync.WaitGroup
		errs := make([]error, 2)
		for worker, p := range s.processes {
			group.Go(func() {
				for i := range sent { // in another order each
					errs[worker] = errors.Join(errs[worker], p(t.Context(), sent[(i+worker*messages/2)%messages]))
				}
			})
		}
		group.Wait()
		require.NoError(t, errors.Join(errs...))
		for _, id := range sent {
			n := effects(t, env, id)
			require.Positive(t, n, "lost in stage %d", stage)
			require.LessOrEqual(t, n, s.most, "stage %d", stage)
		}
	}
}
