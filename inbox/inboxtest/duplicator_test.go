package inboxtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/outbox"
)

// TestDuplicator_IsRepeatable: the stream depends on the seed, and is the same for
// publishers and subscribers.
func TestDuplicator_IsRepeatable(t *testing.T) {
	t.Parallel()
	d := inboxtest.Duplicator{Seed: 1, Late: 3}
	want := publish(t, d.Publisher, numbered(100, "m")...)
	require.Equal(t, want, publish(t, d.Publisher, numbered(100, "m")...))
	require.Equal(t, want, receive(t, d.Subscriber, newStream(numbered(100, "m")...)))
	d.Concurrent = true
	require.Equal(t, want, receive(t, d.Subscriber, newStream(numbered(100, "m")...)))
	d.Seed = 2
	require.NotEqual(t, want, publish(t, d.Publisher, numbered(100, "m")...))
}

// TestDuplicator_Repeats: nothing is lost or reordered, and the number and the delay of repeats are within
// their bounds.
func TestDuplicator_Repeats(t *testing.T) {
	t.Parallel()
	msgs := numbered(500, "m")
	var ids []string
	for _, m := range msgs {
		ids = append(ids, m.UUID)
	}
	for name, tt := range map[string]struct {
		cfg       inboxtest.Duplicator
		min, most int // of all copies
	}{
		"never":        {inboxtest.Duplicator{Rate: -1}, 500, 500},
		"always":       {inboxtest.Duplicator{Rate: 1, Most: 2}, 1500, 1500},
		"by default":   {inboxtest.Duplicator{}, 800, 1100},
		"late":         {inboxtest.Duplicator{Late: 20}, 800, 1100},
		"once a while": {inboxtest.Duplicator{Rate: 0.01}, 500, 530},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := publish(t, tt.cfg.Publisher, msgs...)
			require.GreaterOrEqual(t, len(got), tt.min)
			require.LessOrEqual(t, len(got), tt.most)
			var firsts []string
			count := make(map[string]int)
			for _, id := range got {
				if count[id]++; count[id] == 1 {
					firsts = append(firsts, id)
				} else {
					require.LessOrEqual(t, len(firsts)-1-slices.Index(ids, id), tt.cfg.Late)
				}
			}
			require.Equal(t, ids, firsts)
			if tt.cfg.Late == 0 {
				require.Len(t, slices.Compact(slices.Clone(got)), 500, "right behind")
			}
		})
	}
}

// TestDuplicator_MirrorsTheFirst: a message is acked or nacked like its first copy.
func TestDuplicator_MirrorsTheFirst(t *testing.T) {
	t.Parallel()
	msgs := numbered(2, "m")
	inner := newStream(msgs...)
	sub, err := inboxtest.Duplicator{Rate: 1, Most: 1}.Subscriber(inner)
	require.NoError(t, err)
	require.NoError(t, sub.(message.SubscribeInitializer).SubscribeInitialize("topic"))
	require.Equal(t, []string{"topic"}, inner.topics)
	out, err := sub.Subscribe(t.Context(), "topic")
	require.NoError(t, err)
	(<-out).Ack()
	<-msgs[0].Acked()
	(<-out).Nack()
	first := <-out
	first.Metadata.Set("changed", "yes")
	first.Nack()
	<-msgs[1].Nacked()
	second := <-out
	require.Equal(t, "m1", second.UUID)
	require.Empty(t, second.Metadata.Get("changed"), "each is a copy of its own")
	require.NoError(t, sub.Close())
}

// TestDuplicator_Ends: a duplicator ends even if its messages are not read.
func TestDuplicator_Ends(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	for _, end := range []func(message.Subscriber) error{
		message.Subscriber.Close,
		func(message.Subscriber) error { cancel(); return nil },
	} {
		inner := newStream(numbered(1, "m")...)
		inner.endless = true
		sub, err := inboxtest.Duplicator{Rate: 1}.Subscriber(inner)
		require.NoError(t, err)
		out, err := sub.Subscribe(ctx, "topic")
		require.NoError(t, err)
		held := <-out
		require.NoError(t, end(sub))
		for range out { // until it is closed
		}
		require.NoError(t, sub.Close())
		require.Equal(t, "m0", held.UUID)
		<-inner.msgs[0].Nacked()
	}
}

func TestDuplicator_Errors(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]inboxtest.Duplicator{
		"Duplicator.Rate = 2: must be at most 1":     {Rate: 2},
		"Duplicator.Most = -1: must not be negative": {Most: -1},
		"Duplicator.Late = -1: must not be negative": {Late: -1},
	} {
		_, err := d.Publisher(&shelf{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
		_, err = d.Subscriber(newStream())
		require.ErrorContains(t, err, want)
	}
	errAway := errors.New("away")
	pub, err := inboxtest.Duplicator{Rate: 1, Late: 9}.Publisher(&shelf{err: errAway})
	require.NoError(t, err)
	require.Equal(t, errAway, pub.Publish("topic", numbered(1, "m")...))
	require.Equal(t, errAway, pub.Close())
}
