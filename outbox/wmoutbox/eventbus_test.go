package wmoutbox_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

type orderPlaced struct {
	OrderID string `json:"order_id"`
}

// newEventBus is an event bus as a service builds it, once, with the publisher.
func newEventBus(t *testing.T, pub *wmoutbox.Publisher) *cqrs.EventBus {
	t.Helper()
	bus, err := cqrs.NewEventBusWithConfig(pub, cqrs.EventBusConfig{
		GeneratePublishTopic: func(p cqrs.GenerateEventPublishTopicParams) (string, error) {
			return "events." + p.EventName, nil
		},
		OnPublish: func(p cqrs.OnEventSendParams) error {
			if e, ok := p.Event.(*orderPlaced); ok {
				p.Message.Metadata.Set(outbox.HeaderKey, e.OrderID)
			}
			p.Message.Metadata.Set(outbox.HeaderEventType, p.EventName)
			return nil
		},
		Marshaler: cqrs.JSONMarshaler{GenerateName: cqrs.StructName},
	})
	require.NoError(t, err)
	return bus
}

func TestPublisherUnderEventBus(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	bus := newEventBus(t, newPublisher(t, rec, wmoutbox.Config{}))
	tx := &fakeTx{}

	require.NoError(t, bus.Publish(txctx.With(t.Context(), tx), &orderPlaced{OrderID: "17"}))
	require.ErrorIs(t, bus.Publish(t.Context(), &orderPlaced{OrderID: "18"}), outbox.ErrNotInTransaction)

	calls := rec.seen()
	require.Len(t, calls, 1)
	require.Same(t, tx, calls[0].tx)
	got := calls[0].msgs[0]
	require.NotEmpty(t, got.ID)
	require.Equal(t, outbox.Message{
		ID: got.ID, Topic: "events.orderPlaced", Key: "17", Type: "orderPlaced",
		Payload: []byte(`{"order_id":"17"}`), Headers: map[string]string{"name": "orderPlaced"},
	}, got)
}
