package inbox_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
)

// TestB1_ForeignMessages delivers messages of producers that know nothing of us,
// each twice, as their subscribers hand them over: with a new UUID every time.
func TestB1_ForeignMessages(t *testing.T) {
	t.Parallel()
	const at = int64(17)
	tests := map[string]struct {
		source   inbox.IDSource
		metadata message.Metadata
		payload  string
		want     string
	}{
		"plain event-id":       {source: inbox.IDFromHeader("event-id"), metadata: message.Metadata{"event-id": "e-1"}, want: "e-1"},
		"CloudEvents on Kafka": {source: inbox.IDFromCloudEvent(), metadata: message.Metadata{"ce_id": "7", "ce_source": "/orders"}, want: "/orders 7"},
		"CloudEvents on NATS":  {source: inbox.IDFromCloudEvent(), metadata: message.Metadata{"ce-id": "7", "ce-source": "/orders"}, want: "/orders 7"},
		"CloudEvents in JSON":  {source: inbox.IDFromCloudEvent(), payload: `{"ID":"8","specversion":"1.0","id":"7","source":"/orders"}`, want: "/orders 7"},
		"Debezium":             {source: inbox.IDFromHeader("id"), metadata: message.Metadata{"id": "d-1"}, want: "d-1"},
		"position":             {source: inbox.IDFromPosition(), want: "log/3/17"},
		"payload":              {source: inbox.IDFromPayload(), payload: "body", want: "230d8358dc8e8890b4c58deeb62912ee2f20357ae92a5cc861b98e68fe31acb5"},
		"none, and custom": {source: inbox.IDFromFirst(inbox.IDFromHeader("no such"), inbox.IDSource{Name: "made", Find: func(msg *message.Message) (string, error) {
			return "made of " + string(msg.Payload), nil
		}}), payload: "body", want: "made of body"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := meminbox.New("c", meminbox.Config{Config: inbox.Config{IDFrom: tt.source}})
			require.NoError(t, err)
			for _, want := range []inbox.Outcome{inbox.OutcomeCommitted, inbox.OutcomeDuplicate} {
				ctx := driver.WithPosition(t.Context(), driver.Position{Source: "log", Partition: 3, Offset: at})
				msg := message.NewMessageWithContext(ctx, watermill.NewUUID(), []byte(tt.payload))
				msg.Metadata = tt.metadata
				id, err := tt.source.Find(msg)
				require.NoError(t, err)
				require.Equal(t, tt.want, id)
				outcome, err := in.Process(ctx, msg, func(context.Context) error { return nil })
				require.NoError(t, err)
				require.Equal(t, want, outcome)
			}
		})
	}
}

// TestI11_SourcesWithoutAnID find none where there is none.
func TestI11_SourcesWithoutAnID(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]inbox.IDSource{
		"position": inbox.IDFromPosition(), "cloud event": inbox.IDFromCloudEvent(), "header": inbox.IDFromHeader("event-id"),
	} {
		id, err := source.Find(message.NewMessage("made up", nil))
		require.NoError(t, err, name)
		require.Empty(t, id, name)
	}
}
