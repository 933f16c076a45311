package middleware_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// stopper ends a redrive when it has committed.
type stopper struct{ cancel context.CancelFunc }

func (s stopper) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	if d.Redriven && d.Outcome == inbox.OutcomeCommitted {
		s.cancel()
	}
}

// TestI2_RedrivenMessagesGoToTheOutbox parks a message, redrives it, and finds what
// its handler returns in the outbox, once.
func TestI2_RedrivenMessagesGoToTheOutbox(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ob, store := &memory{}, &meminbox.Store{}
	in, err := meminbox.New("tester", meminbox.Config{Store: store, Config: inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: time.Millisecond, Hooks: []outbox.Hook{stopper{cancel}},
	}})
	require.NoError(t, err)
	once := must(middleware.NewInbox(middleware.InboxConfig{Processor: in, Outbox: ob}))
	_, err = once(func(*message.Message) ([]*message.Message, error) { return nil, inbox.Permanent(errHandler) })(routed(t, "a"))
	require.NoError(t, err)
	require.Empty(t, ob.committed)
	operator := meminbox.NewAdmin(store)
	_, err = operator.Redrive(t.Context(), admin.ChangeRequest{
		By: admin.By{Actor: "ann", Reason: "it is fixed"}, Consumer: "tester", Selection: admin.Selection{ID: "a"},
	})
	require.NoError(t, err)

	require.NoError(t, middleware.RunRedrive(ctx, middleware.RedriveConfig{
		Processor: in, Handler: respond("x"), Topic: "out", Outbox: ob,
	}))

	require.Len(t, ob.committed, 1)
	require.Equal(t, "out", ob.committed[0].Topic)
	parked, err := operator.Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	require.Empty(t, parked)
}
