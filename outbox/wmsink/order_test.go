package wmsink_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// A relay over a publisher that fails and dawdles at random, with timeouts that
// often end first: whatever happens, first occurrences are in key order, and in
// the end everything is there.
func TestO5_KeyOrderUnderRandomFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var (
			lanes   = rapid.IntRange(1, 9).Draw(rt, "lanes")
			keys    = rapid.IntRange(1, 12).Draw(rt, "keys")
			n       = rapid.IntRange(1, 80).Draw(rt, "records")
			page    = rapid.IntRange(1, 30).Draw(rt, "page")
			failing = rapid.IntRange(0, 40).Draw(rt, "failing in a hundred")
			timeout = rapid.IntRange(1, 60).Draw(rt, "timeout in ms")
			seed    = rapid.Uint64().Draw(rt, "seed")
		)
		synctest.Test(t, func(t *testing.T) {
			sent := records(n, keys)
			for i := range sent {
				if i%11 == 10 {
					sent[i].Key = ""
				}
			}
			pub := &log{before: dawdle(seed, failing)}
			s := newSink(t, pub, wmsink.Config{Lanes: lanes})
			relayAll(t, s.Send, sent, page, time.Duration(timeout)*time.Millisecond)
			require.NoError(t, s.Wait(t.Context()))
			require.Empty(t, outOfOrder(sent, pub.ids()))
			require.Len(t, slices.Compact(slices.Sorted(slices.Values(pub.ids()))), n, "nothing is missing")
		})
	})
}

// dawdle takes 0 to 30 ms a message and fails some of them, half of these after
// they were published.
func dawdle(seed uint64, failing int) func(string, *message.Message) error {
	lock := make(chan struct{}, 1)
	random := rand.New(rand.NewPCG(seed, 1))
	return func(string, *message.Message) error {
		lock <- struct{}{}
		wait, fails := time.Duration(random.IntN(30_000))*time.Microsecond, random.IntN(100) < failing
		<-lock
		<-time.After(wait)
		switch {
		case fails && wait.Microseconds()%2 == 0:
			return errPublish
		case fails:
			return errAnswerLost
		default:
			return nil
		}
	}
}

// relayAll sends sent in pages, each until all of it was acknowledged.
func relayAll(
	t *testing.T, send func(context.Context, []outbox.Record) []outbox.Result, sent []outbox.Record, size int, timeout time.Duration,
) {
	t.Helper()
	for page := range slices.Chunk(sent, size) {
		for rounds := 0; len(page) > 0; rounds++ {
			require.Less(t, rounds, 10_000)
			ctx, cancel := context.WithTimeout(t.Context(), timeout)
			page = unsent(page, send(ctx, page))
			cancel()
		}
	}
}

// When its context ends Send returns at once, though the publisher hangs. What
// comes next for the lane waits until the late message is through.
func TestO5_LateMessageStaysInFront(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		pub := &log{before: func(_ string, msg *message.Message) error {
			if msg.UUID == "1" {
				<-release
			}
			return nil
		}}
		s := newSink(t, pub, wmsink.Config{Lanes: 4})
		sent := []outbox.Record{record("t", "a", 1), record("t", "a", 2)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		results := s.Send(ctx, sent)
		require.Equal(t, time.Second, time.Since(began))
		require.Equal(t, []string{"outage", "not_sent"}, kindsOf(results))
		require.ErrorIs(t, results[0].Err, context.DeadlineExceeded)

		waiting, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		require.ErrorIs(t, s.Wait(waiting), context.DeadlineExceeded)
		again, stopAgain := context.WithTimeout(t.Context(), time.Second)
		defer stopAgain()
		require.Equal(t, []string{"outage", "not_sent"}, kindsOf(s.Send(again, sent)), "its lane is taken")
		require.Empty(t, pub.ids())

		done := make(chan []outbox.Result, 1)
		go func() { done <- s.Send(t.Context(), sent) }()
		synctest.Wait()
		require.Empty(t, pub.ids(), "the lane is still taken")
		close(release)
		require.Equal(t, []string{"delivered", "delivered"}, kindsOf(<-done))
		require.Equal(t, []string{"1", "2"}, pub.ids(), "the late answer counts")
		require.NoError(t, s.Wait(t.Context()))
	})
}

// naive is a sink as one writes it first: it gives up a call that hangs and
// forgets it, and goes on behind a failure.
type naive struct {
	pub  message.Publisher
	goOn bool
}

func (s naive) Send(ctx context.Context, sent []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(sent))
	for i := range sent {
		done := make(chan error, 1)
		go func() { done <- s.pub.Publish(sent[i].Topic, outbox.ToWatermill(&sent[i])) }()
		var err error
		select {
		case err = <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err == nil {
			continue
		}
		results[i] = outbox.Failed(wmsink.DefaultClassify(err), err)
		if !s.goOn {
			for k := i + 1; k < len(sent); k++ {
				results[k] = outbox.NotSent()
			}
			return results
		}
	}
	return results
}

func TestO5_ControlGoingOnBehindAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sent := records(40, 2)
		pub := &log{before: dawdle(1, 30)}
		relayAll(t, naive{pub: pub, goOn: true}.Send, sent, 10, time.Hour)
		require.NotEmpty(t, outOfOrder(sent, pub.ids()), "the check has to see this")
	})
}

// afterHanging sends record 1, whose publish hangs until the call has timed out,
// and then record 2 of the same key alone, as a relay does that has put 1 aside.
// It returns what was published in the end.
func afterHanging(t *testing.T, sink func(message.Publisher) func(context.Context, []outbox.Record) []outbox.Result) []string {
	t.Helper()
	release := make(chan struct{})
	pub := &log{before: func(_ string, msg *message.Message) error {
		if msg.UUID == "1" {
			<-release
		}
		return nil
	}}
	send := sink(pub)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.Equal(t, []string{"outage"}, kindsOf(send(ctx, records(1, 1))))

	done := make(chan []outbox.Result, 1)
	go func() { done <- send(t.Context(), records(2, 1)[1:]) }()
	synctest.Wait()
	close(release)
	require.Equal(t, []string{"delivered"}, kindsOf(<-done))
	synctest.Wait()
	return pub.ids()
}

func TestO5_LaneWaitsForACallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := afterHanging(t, func(pub message.Publisher) func(context.Context, []outbox.Record) []outbox.Result {
			return newSink(t, pub, wmsink.Config{}).Send
		})
		require.Equal(t, []string{"1", "2"}, ids)
	})
}

func TestO5_ControlForgettingACallThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := afterHanging(t, func(pub message.Publisher) func(context.Context, []outbox.Record) []outbox.Result {
			return naive{pub: pub}.Send
		})
		require.NotEmpty(t, outOfOrder(records(2, 1), ids), "the check has to see this")
	})
}
