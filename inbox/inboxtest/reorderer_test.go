package inboxtest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/inboxtest"
	"github.com/leat-go/leat/outbox"
)

// TestReorderer_IsRepeatable: the order depends on the seed, and is the same for
// publishers and subscribers of a stream without gaps.
func TestReorderer_IsRepeatable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := inboxtest.Reorderer{Seed: 1}
		want := publish(t, r.Publisher, numbered(100, "m")...)
		require.Equal(t, want, publish(t, r.Publisher, numbered(100, "m")...))
		require.Equal(t, want, receive(t, r.Subscriber, newStream(numbered(100, "m")...)))
		r.Seed = 2
		require.NotEqual(t, want, publish(t, r.Publisher, numbered(100, "m")...))
		require.Equal(t, []string{"m0", "m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"},
			publish(t, inboxtest.Reorderer{Window: 1}.Publisher, numbered(9, "m")...))
	})
}

// TestReorderer_WithinAndAcrossKeys: nothing is lost, a message gets ahead by less than the window, and
// with Key each key keeps its order.
func TestReorderer_WithinAndAcrossKeys(t *testing.T) {
	t.Parallel()
	msgs := numbered(100, "a", "b", "c")
	var ids []string
	for _, m := range msgs {
		ids = append(ids, m.UUID)
	}
	for name, r := range map[string]inboxtest.Reorderer{"any": {Window: 5}, "by key": {Window: 5, Key: keyOf}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := publish(t, r.Publisher, msgs...)
			require.ElementsMatch(t, ids, got)
			require.NotEqual(t, ids, got)
			for at, id := range got {
				require.LessOrEqual(t, slices.Index(ids, id)-at, 4)
			}
			inOrder := true
			for _, key := range []string{"a", "b", "c"} {
				of := func(ids []string) []string {
					return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, key) })
				}
				inOrder = inOrder && slices.Equal(of(ids), of(got))
			}
			require.Equal(t, r.Key != nil, inOrder)
		})
	}
}

// TestReorderer_Lingers: a message that is held back is delivered even if no other message follows.
func TestReorderer_Lingers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := newStream(numbered(1, "m")...)
		inner.endless = true
		sub, err := inboxtest.Reorderer{}.Subscriber(inner)
		require.NoError(t, err)
		out, err := sub.Subscribe(t.Context(), "topic")
		require.NoError(t, err)
		require.Equal(t, "m0", (<-out).UUID)
		require.NoError(t, sub.Close())
		_, open := <-out
		require.False(t, open)
	})
}

// TestReorderer_Ends: messages that are held back at the end are nacked.
func TestReorderer_Ends(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, byContext := range []bool{true, false} {
			inner := newStream(numbered(3, "m")...)
			inner.endless = true
			sub, err := inboxtest.Reorderer{}.Subscriber(inner)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			_, err = sub.Subscribe(ctx, "topic")
			require.NoError(t, err)
			synctest.Wait()
			if byContext {
				cancel()
				synctest.Wait()
			}
			require.NoError(t, sub.Close())
			cancel()
			for _, msg := range inner.msgs {
				<-msg.Nacked()
			}
		}
	})
}

func TestReorderer_Errors(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]inboxtest.Reorderer{
		"Reorderer.Window = -1: must be at least 1":     {Window: -1},
		"Reorderer.Linger = -1ns: must not be negative": {Linger: -1},
	} {
		_, err := r.Publisher(&shelf{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
		_, err = r.Subscriber(newStream())
		require.ErrorContains(t, err, want)
	}
	errAway := errors.New("away")
	pub, err := inboxtest.Reorderer{Window: 2}.Publisher(&shelf{err: errAway})
	require.NoError(t, err)
	require.Equal(t, errAway, pub.Publish("topic", numbered(3, "m")...))
	require.NoError(t, pub.Publish("topic"))
	pub, err = inboxtest.Reorderer{}.Publisher(&shelf{err: errAway})
	require.NoError(t, err)
	require.NoError(t, pub.Publish("topic", message.NewMessage("m", nil)))
	require.Equal(t, errAway, pub.Close())
}
