package middleware_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// forward returns what it got, n times.
func forward(n int) message.HandlerFunc {
	return func(msg *message.Message) (out []*message.Message, err error) {
		for range n {
			out = append(out, msg)
		}
		return out, nil
	}
}

// TestI12_PassedOn: A1. A message that a handler passes on under the id it came with
// gets another, the same in each run, so that no inbox takes it for a repeat.
func TestI12_PassedOn(t *testing.T) {
	t.Parallel()
	want := []string{
		inbox.ChildID("a", "tester", "passed on 0"), inbox.ChildID("a", "tester", "passed on 1"),
	}
	require.NotEqual(t, want[0], want[1])
	require.NotContains(t, want, "a")
	for range 2 { // as after a crash
		ob := &memory{}
		msg := routed(t, "a")
		msg.Metadata.Set(outbox.HeaderEventID, "a")
		_, err := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t), Outbox: ob}))(forward(2))(msg)
		require.NoError(t, err)
		require.Len(t, ob.committed, 2)
		for n, m := range ob.committed {
			require.Equal(t, want[n], m.ID)
			require.Equal(t, map[string]string{middleware.HeaderParentID: "a"}, m.Headers)
		}
		require.Equal(t, "a", msg.UUID, "a Retry outside needs the message as it came")
		require.NotContains(t, msg.Metadata, middleware.HeaderParentID)
	}
}

// TestI12_OwnIDsStay: A1. Ids that the handler chose are left alone.
func TestI12_OwnIDsStay(t *testing.T) {
	t.Parallel()
	ob := &memory{}
	_, err := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t), Outbox: ob}))(func(msg *message.Message) ([]*message.Message, error) {
		renamed := msg.Copy()
		renamed.UUID = "b"
		return []*message.Message{renamed, msg}, nil
	})(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, "b", ob.committed[0].ID)
	require.Equal(t, inbox.ChildID("a", "tester", "passed on 1"), ob.committed[1].ID)
}

// TestI12_PassedOnUnderALease: A1.
func TestI12_PassedOnUnderALease(t *testing.T) {
	t.Parallel()
	pub := &shelf{}
	_, err := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: newDeduper(t), Publisher: pub}))(forward(1))(routed(t, "a"))
	require.NoError(t, err)
	require.Equal(t, []string{inbox.ChildID("a", "tester", "passed on 0")}, pub.ids)
}

// TestN1_TwoHandlersBehindOneLease: A1.
func TestN1_TwoHandlersBehindOneLease(t *testing.T) {
	t.Parallel()
	h := must(middleware.NewDedupe(middleware.DedupeConfig{Processor: newDeduper(t)}))(forward(0))
	_, err := h(sentTo(t, "points", "1"))
	require.NoError(t, err)
	_, err = h(sentTo(t, "mail", "1"))
	require.ErrorIs(t, err, inbox.ErrTwoHandlers)
	_, err = h(sentTo(t, "points", "1"))
	require.ErrorIs(t, err, inbox.ErrTwoHandlers, "not even a repeat is acknowledged")
}
