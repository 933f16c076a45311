package python_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

// wired is a Kafka message as events.py reads and writes it.
type wired struct {
	Headers map[string]string `json:"headers"`
	Value   []byte            `json:"value"`
}

// oneKey provides a single key.
type oneKey struct{ cipher.AEAD }

func (k oneKey) Encrypt(p, ad []byte) ([]byte, error) { return k.Seal(nil, nil, p, ad), nil }

func (k oneKey) Decrypt(c, ad []byte) ([]byte, error) { return k.Open(nil, nil, c, ad) }

func (k oneKey) Current(context.Context, string) (string, content.AEAD, error) { return "k", k, nil }

func (k oneKey) Key(context.Context, string) (content.AEAD, error) { return k, nil }

// events runs events.py and returns the lines of its output.
func events(t *testing.T, stdin string, args ...string) []string {
	t.Helper()
	s := &shop{t: t, ctx: t.Context(), python: testenv.PythonWith(t, "testdata/events.txt")}
	p := s.script(strings.NewReader(stdin), append([]string{"events.py"}, args...)...)
	var lines []string
	for p.out.Scan() {
		lines = append(lines, p.out.Text())
	}
	require.NoError(t, s.ended(p, false))
	return lines
}

// TestC23_PythonWrites: C23. leat reads what CloudEvents' SDK for Python writes, in both modes and with
// both forms of its API. One of these forms labels a document of structured mode as plain JSON.
//
//leat:level 4
func TestC23_PythonWrites(t *testing.T) {
	t.Parallel()
	c, err := content.New(content.Config{CloudEvents: &content.CloudEvents{Source: "/shop"}})
	require.NoError(t, err)
	lines := events(t, "", "write")
	require.Len(t, lines, 4)
	for _, line := range lines {
		var m wired
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		msg := message.NewMessage("u", m.Value)
		for name, value := range m.Headers {
			msg.Metadata.Set(name, value)
		}
		require.NoError(t, c.Handle(func(_ context.Context, msg *message.Message) error {
			require.JSONEq(t, `{"rate":19}`, string(msg.Payload), line)
			require.Equal(t, []string{"7", "/tax", "de", "tax.Changed"}, []string{
				msg.Metadata["ce_id"], msg.Metadata["ce_source"], msg.Metadata["ce_subject"], msg.Metadata[outbox.HeaderEventType],
			}, line)
			return nil
		})(t.Context(), msg))
	}
}

// TestC22_PythonReads: C22. The same SDK reads what leat writes, in both modes. Of an encrypted event it
// reads everything except the data.
//
//leat:level 4
func TestC22_PythonReads(t *testing.T) {
	t.Parallel()
	block, err := aes.NewCipher(make([]byte, 16))
	require.NoError(t, err)
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	require.NoError(t, err)
	m := outbox.Message{
		ID: "1", Topic: "orders", Key: "17", Type: "shop.OrderPlaced", Payload: []byte(`{"order":"17"}`),
		OccurredAt: time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC),
		Headers:    map[string]string{"content-type": "application/json", "event-version": "2"},
	}
	var lines strings.Builder
	for _, seal := range []*content.Seal{nil, {Keys: oneKey{gcm}}} {
		for _, structured := range []bool{false, true} {
			c, err := content.New(content.Config{Seal: seal, CloudEvents: &content.CloudEvents{
				Source: "/shop", Structured: structured, Subject: func(m *outbox.Message) string { return m.Key },
			}})
			require.NoError(t, err)
			msgs, err := c.Encode(t.Context(), m)
			require.NoError(t, err)
			if seal != nil && !structured { // the SDK reads data by its content type: a consumer of sealed events takes bytes
				msgs[0].Headers["content-type"] = "application/octet-stream"
			}
			line, err := json.Marshal(wired{outbox.ToWatermill(&outbox.Record{Message: msgs[0]}).Metadata, msgs[0].Payload})
			require.NoError(t, err)
			lines.Write(append(line, '\n'))
		}
	}
	read := events(t, lines.String(), "read")
	require.Len(t, read, 4)
	for i, line := range read {
		var got map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &got))
		data := got["data"]
		delete(got, "data")
		want := map[string]any{"id": "1", "source": "/shop", "type": "shop.OrderPlaced", "time": "2026-11-29T12:00:00+00:00", "subject": "17", "version": "2", "key": nil}
		if i < 2 {
			require.Equal(t, map[string]any{"order": "17"}, data)
		} else {
			want["key"] = "k"
			require.Contains(t, data, "base64")
		}
		require.Equal(t, want, got)
	}
}
