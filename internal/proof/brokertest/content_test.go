package brokertest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// TestC22_SDKReadsStructuredMode: C22. The SDK of CloudEvents reads what leat sends.
//
//leat:level 0
func TestC22_SDKReadsStructuredMode(t *testing.T) {
	t.Parallel()
	c, err := content.New(content.Config{CloudEvents: &content.CloudEvents{
		Source: "/shop", Structured: true, Subject: func(m *outbox.Message) string { return m.Key },
	}})
	require.NoError(t, err)
	for kind, payload := range map[string]string{"application/json": `{"order":"17","note":"<&>"}`, "avro/binary": "\x00\x01\xff", "text/plain": "not sealed"} {
		msgs, err := c.Encode(t.Context(), outbox.Message{
			ID: "1", Topic: "orders", Key: "17", Type: "shop.OrderPlaced", Payload: []byte(payload),
			Headers: map[string]string{"content-type": kind, "event-version": "2", "ce_tenant": "acme"},
		})
		require.NoError(t, err)
		var e event.Event
		require.NoError(t, json.Unmarshal(msgs[0].Payload, &e))
		require.NoError(t, e.Validate())
		require.Equal(t, payload, string(e.Data()))
		require.Equal(t, []string{"1", "/shop", "shop.OrderPlaced", "17", kind, "1.0"}, []string{e.ID(), e.Source(), e.Type(), e.Subject(), e.DataContentType(), e.SpecVersion()})
		require.Equal(t, map[string]any{"eventversion": "2", "tenant": "acme"}, e.Extensions())
		require.True(t, e.Time().Equal(msgs[0].OccurredAt))
	}
}

// TestC23_SDKWritesStructuredMode: C23. leat reads what the SDK sends.
//
//leat:level 0
func TestC23_SDKWritesStructuredMode(t *testing.T) {
	t.Parallel()
	c, err := content.New(content.Config{CloudEvents: &content.CloudEvents{Source: "/shop"}})
	require.NoError(t, err)
	for kind, payload := range map[string]string{"application/json": `{"rate":19}`, "text/plain": "nineteen", "application/octet-stream": "\x00\x01"} {
		e := event.New()
		e.SetID("7")
		e.SetSource("/tax")
		e.SetType("tax.Changed")
		e.SetExtension("count", 3)
		require.NoError(t, e.SetData(kind, []byte(payload)))
		document, err := json.Marshal(e)
		require.NoError(t, err)
		msg := message.NewMessage("u", document)
		msg.Metadata.Set("content-type", event.ApplicationCloudEventsJSON)
		require.NoError(t, c.Handle(func(_ context.Context, msg *message.Message) error {
			require.Equal(t, payload, string(msg.Payload))
			require.Equal(t, []string{"tax.Changed", "7", "3", kind}, []string{
				msg.Metadata.Get("event-type"), msg.Metadata.Get("ce_id"), msg.Metadata.Get("ce_count"), msg.Metadata.Get("content-type"),
			})
			return nil
		})(t.Context(), msg))
	}
}

// tinkKeys provides one Tink key.
type tinkKeys struct{ tink.AEAD }

func (k tinkKeys) Current(context.Context, string) (string, content.AEAD, error) { return "k", k, nil }

func (k tinkKeys) Key(context.Context, string) (content.AEAD, error) { return k, nil }

// TestC25_Tink: C25. A Tink key can be used as an AEAD as it is.
//
//leat:level 0
func TestC25_Tink(t *testing.T) {
	t.Parallel()
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	key, err := aead.New(handle)
	require.NoError(t, err)
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: tinkKeys{key}}})
	require.NoError(t, err)
	msgs, err := c.Encode(t.Context(), outbox.Message{ID: "1", Topic: "customers", Payload: []byte("St James's Square")})
	require.NoError(t, err)
	require.NotContains(t, string(msgs[0].Payload), "James")
	open := c.Handle(func(_ context.Context, msg *message.Message) error {
		require.Equal(t, "St James's Square", string(msg.Payload))
		return nil
	})
	require.NoError(t, open(t.Context(), outbox.ToWatermill(&outbox.Record{Message: msgs[0]})))
	msgs[0].ID = "2"
	require.ErrorContains(t, open(t.Context(), outbox.ToWatermill(&outbox.Record{Message: msgs[0]})), "cannot be opened")
}
