package relay_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

func record(seq int64, key string) outbox.Record {
	return outbox.Record{Message: outbox.Message{ID: fmt.Sprintf("id-%d", seq), Topic: "t", Key: key}, Seq: seq}
}

// TestO5_FuncStopsAKeyAtItsFirstFailure: a failure stops its key and no other. A record without a key
// fails alone.
func TestO5_FuncStopsAKeyAtItsFirstFailure(t *testing.T) {
	t.Parallel()
	records := []outbox.Record{
		record(1, "a"), record(2, "b"), record(3, "a"), record(4, ""), record(5, "a"), record(6, ""), record(7, "b"),
	}
	var mu sync.Mutex
	var called []string
	sink, err := relay.Func(func(ctx context.Context, r outbox.Record) error {
		mu.Lock()
		defer mu.Unlock()
		called = append(called, relay.IdempotencyKey(ctx))
		switch r.Seq {
		case 3:
			return outbox.Failed(outbox.FailurePermanent, errBroker).Err
		case 4:
			return outbox.NotSent().Err // it cannot know
		case 7:
			panic("no")
		default:
			return nil
		}
	}, relay.FuncConfig{Lanes: 3})
	require.NoError(t, err)
	results := sink.Send(t.Context(), records)
	require.ElementsMatch(t, []string{"id-1", "id-2", "id-3", "id-4", "id-6", "id-7"}, called)
	for i, want := range []error{nil, nil, errBroker, outbox.ErrNotSent, outbox.ErrNotSent, nil} {
		require.ErrorIs(t, results[i].Err, want, "record %d", i+1)
	}
	require.ErrorContains(t, results[6].Err, "leat: the function of a sink has panicked: no")
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[2].Err))
	require.EqualError(t, results[2].Err, outbox.Failed(outbox.FailurePermanent, errBroker).Err.Error(), "it is told once")
	require.Equal(t, outbox.FailureUnknown, outbox.KindOf(results[3].Err))
	require.Equal(t, outbox.FailureNotSent, outbox.KindOf(results[4].Err))
	require.Equal(t, outbox.FailureUnknown, outbox.KindOf(results[6].Err))
}

// TestO8_FuncOutageStopsItsTopic: when the destination is unavailable, the rest of the lane is not tried.
func TestO8_FuncOutageStopsItsTopic(t *testing.T) {
	t.Parallel()
	other := record(4, "a")
	other.Topic = "u"
	calls := 0
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error {
		if calls++; r.Topic == "t" {
			return outbox.Failed(outbox.FailureOutage, errBroker).Err
		}
		return nil
	}, relay.FuncConfig{Lanes: 1})
	require.NoError(t, err)
	results := sink.Send(t.Context(), []outbox.Record{record(1, "a"), record(2, "b"), record(3, ""), other})
	require.Equal(t, 2, calls)
	require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err))
	require.Equal(t, outbox.FailureNotSent, outbox.KindOf(results[2].Err))
	require.NoError(t, results[3].Err)
}

// TestO7_FuncLanes: slow calls for different keys do not wait for one another,
// and a call that is cut short is not an attempt.
func TestO7_FuncLanes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink, err := relay.Func(func(ctx context.Context, _ outbox.Record) error {
			return wait.For(ctx, time.Second)
		}, relay.FuncConfig{Lanes: 64, KeylessConcurrent: true})
		require.NoError(t, err)
		var records []outbox.Record
		for i := range int64(64) {
			records = append(records, record(i, ""))
		}
		began := time.Now()
		results := sink.Send(t.Context(), append(records, record(64, "")))
		require.Equal(t, 2*time.Second, time.Since(began))
		require.NoError(t, results[64].Err)

		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		require.Equal(t, outbox.FailureOutage, outbox.KindOf(sink.Send(ctx, records[:1])[0].Err))
	})
}

// A4: TestFunc_KeylessOneAtATime: functions of services that were serial may read, add and write. So
// records without a key are not called at the same time unless that is configured.
func TestFunc_KeylessOneAtATime(t *testing.T) {
	t.Parallel()
	for concurrent, want := range map[bool]int{false: 64, true: 4} {
		t.Run(fmt.Sprintf("concurrent=%v", concurrent), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				sum, order := 0, []int64(nil)
				sink, err := relay.Func(func(ctx context.Context, r outbox.Record) error {
					mu.Lock()
					read := sum
					mu.Unlock()
					err := wait.For(ctx, time.Millisecond)
					mu.Lock()
					sum, order = read+1, append(order, r.Seq)
					mu.Unlock()
					return err
				}, relay.FuncConfig{KeylessConcurrent: concurrent})
				require.NoError(t, err)
				var records []outbox.Record
				for i := range int64(64) {
					records = append(records, record(i, ""))
				}
				for _, r := range sink.Send(t.Context(), records) {
					require.NoError(t, r.Err)
				}
				require.Equal(t, want, sum)
				require.Equal(t, !concurrent, slices.IsSorted(order))
			})
		})
	}
}

// TestO10_FuncIsNotCutShort: a function call is not cut short when the time for a page ends. The relay
// gives it more time, and no call is made twice.
func TestO10_FuncIsNotCutShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, hook := newFakeLog(50), &recorder{}
		calls := 0
		sink, err := relay.Func(func(ctx context.Context, _ outbox.Record) error {
			calls++
			return wait.For(ctx, time.Second)
		}, relay.FuncConfig{Lanes: 1})
		require.NoError(t, err)
		n, err := once(t, log.source(), sink, relay.Config{Hooks: []outbox.Hook{hook}}).RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 50, n)
		require.Equal(t, 50, calls)
		require.Empty(t, hook.errors)
		clean(t, log)
	})
}

func TestFunc_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := relay.Func(nil, relay.FuncConfig{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	nothing := func(context.Context, outbox.Record) error { return nil }
	for _, lanes := range []int{-1, 1025} {
		_, err = relay.Func(nothing, relay.FuncConfig{Lanes: lanes})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "Lanes")
	}
	require.Empty(t, relay.IdempotencyKey(t.Context()))
}
