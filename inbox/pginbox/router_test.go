package pginbox_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// station is a router with an inbox on PostgreSQL in the middle of it.
type station struct {
	*subject

	inbox   message.HandlerMiddleware
	outbox  *capture
	handled atomic.Int32 // calls of the handler
}

func newStation(t *testing.T) *station {
	t.Helper()
	s := newSubject(t, testenv.Postgres(t), pginbox.Config{})
	p, err := s.Open("station", inbox.Config{BusyDelay: time.Millisecond})
	require.NoError(t, err)
	st := &station{subject: s, outbox: &capture{Enqueuer: s.Outbox()}}
	st.inbox, err = middleware.NewInbox(middleware.InboxConfig{Processor: p, Outbox: st.outbox})
	require.NoError(t, err)
	return st
}

// capture notes what is enqueued, committed or not.
type capture struct {
	outbox.Enqueuer

	msgs []outbox.Message
}

func (c *capture) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	c.msgs = append(c.msgs, msgs...)
	return c.Enqueuer.EnqueueContext(ctx, msgs...)
}

// run sends a message through a router with mws, outermost first, to handle,
// which gets the number of its call, from 1, after it has written an effect. It
// returns when the message is acked; each nack delivers it again.
func (st *station) run(t *testing.T, handle func(call int, msg *message.Message) error, mws ...message.HandlerMiddleware) {
	t.Helper()
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true, BlockPublishUntilSubscriberAck: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 10 * time.Second}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddMiddleware(mws...)
	router.AddHandler("handler", "in", pubsub, "out", pubsub, func(msg *message.Message) ([]*message.Message, error) {
		call := int(st.handled.Add(1))
		if err := st.Write(msg.Context(), "effect"); err != nil {
			return nil, err
		}
		return []*message.Message{message.NewMessage("child", nil)}, handle(call, msg)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- router.Run(ctx) }()
	<-router.Running()

	msg := message.NewMessage("a", nil)
	msg.Metadata.Set("correlation_id", "correlated")
	require.NoError(t, pubsub.Publish("in", msg))
	require.NoError(t, ctx.Err(), "the message was not acked in time")
	require.NoError(t, router.Close())
	require.NoError(t, <-stopped)
}

// wantOnce wants one effect, one record and one message in the outbox.
func (st *station) wantOnce(t *testing.T) {
	t.Helper()
	effects, err := st.Effects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"effect"}, effects)
	enqueued, err := st.Enqueued(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"child"}, enqueued)
	recorded, err := st.Recorded(t.Context(), "station", "a")
	require.NoError(t, err)
	require.True(t, recorded)
	require.Zero(t, st.pool.Stat().AcquiredConns())
}

// wantNothing wants no trace of the message.
func (st *station) wantNothing(t *testing.T) {
	t.Helper()
	effects, err := st.Effects(t.Context())
	require.NoError(t, err)
	require.Empty(t, effects)
	enqueued, err := st.Enqueued(t.Context())
	require.NoError(t, err)
	require.Empty(t, enqueued)
	recorded, err := st.Recorded(t.Context(), "station", "a")
	require.NoError(t, err)
	require.False(t, recorded)
	require.Zero(t, st.pool.Stat().AcquiredConns())
}
