package content_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// FuzzEnvelope: whatever comes is opened or refused for good, and stays as it came. What is
// opened is opened to the same again after it was sent on.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "null", `{"specversion":"1.0","id":"1","source":"/x","type":"t","data":{"a":1}}`,
		`{"specversion":"1.0","id":"1","source":"/x","type":"t","datacontenttype":"text/plain","data":"\ud800"}`,
		`{"specversion":"1.0","id":"1","source":"/x","type":"t","data_base64":"AA=="}`, `{"specversion":1.0}`,
	} {
		f.Add("application/cloudevents+json", seed)
		f.Add("", seed)
	}
	f.Add("application/json; =", "x")
	f.Fuzz(func(t *testing.T, kind, payload string) {
		c := newContent(t, content.Config{CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true}})
		msg := message.NewMessageWithContext(t.Context(), "1", []byte(payload))
		msg.Metadata.Set("content-type", kind)
		before := msg.Copy()
		_, _ = inbox.IDFromCloudEvent().Find(msg)
		err := c.Handle(func(_ context.Context, msg *message.Message) error {
			m, err := outbox.FromWatermill("t", msg, nil)
			require.NoError(t, err)
			m.Type = "t"
			again, err := c.Encode(t.Context(), m)
			if err != nil { // such as an event whose data is another one
				require.ErrorIs(t, err, outbox.ErrInvalidMessage)
				return nil
			}
			got, err := open(t, c, deliver(t, again[0]))
			require.NoError(t, err)
			want := msg.Payload
			if json.Valid(want) { // spaces around a value are not part of it
				want, got = bytes.TrimSpace(want), bytes.TrimSpace(got)
			}
			require.Equal(t, string(want), string(got))
			return nil
		})(t.Context(), msg)
		require.True(t, before.Equals(msg))
		require.True(t, err == nil || inbox.IsPermanent(err), "%v", err)
	})
}

// FuzzReference: no reference leads anywhere but to a key that was put.
func FuzzReference(f *testing.F) {
	f.Add(`{"claim":"2026/11/29/0000000000000000000000000000000000000000000000000000000000000000","bytes":1}`)
	f.Add(`{"claim":"../x","bytes":1}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, payload string) {
		c := newContent(t, content.Config{Claim: &content.Claim{Blobs: strict{t}}})
		msg := message.NewMessageWithContext(t.Context(), "1", []byte(payload))
		msg.Metadata.Set("content-claim", "1")
		_, err := open(t, c, msg)
		require.Error(t, err)
		require.True(t, inbox.IsPermanent(err))
	})
}

// strict is an empty store that refuses strange keys.
type strict struct{ t *testing.T }

func (s strict) Put(context.Context, string, []byte) error { return nil }

func (s strict) Get(_ context.Context, key string) ([]byte, error) {
	require.Regexp(s.t, `^\d{4}/\d\d/\d\d/[0-9a-f]{64}\z`, key)
	return nil, content.ErrGone
}
