package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
)

// Secrets are left out on the server, wherever a payload goes, and numbers stay as they are.
func TestRedaction(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *dashboard.Config) {
		c.Redact = &dashboard.Redaction{Headers: []string{"x-api-*"}, Paths: []string{"customer.email", "**.card", "rows.*.name"}}
	})
	s.enqueue(
		outbox.Message{ID: "r-1", Topic: "t", Payload: []byte(`{"rows":[{"name":"s3cret","n":1.10},{"n\u0061me":"s3cret"}],"a":{"b":[{"card":{"no":"s3cret"}}]},"card":"s3cret","card":["s3cret"],"<":"&"}`)},
		outbox.Message{ID: "r-2", Topic: "t", Payload: []byte("card=s3cret")},
	)
	page := func(seq string) string {
		return s.get("/messages/"+seq).Body.String() + s.get("/api/v1/messages/"+seq).Body.String() + s.get("/api/v1/messages/"+seq+"/payload").Body.String()
	}
	first := page("1")
	require.NotContains(t, first, "bob@example.com")
	require.NotContains(t, first, "s3cret")
	require.Contains(t, first, "12345678901234567890")
	require.Contains(t, first, "blue")
	require.NotContains(t, page("5"), "s3cret")
	require.JSONEq(t, `{"rows":[{"name":"***","n":1.10},{"name":"***"}],"a":{"b":[{"card":"***"}]},"card":"***","<":"&"}`, s.get("/api/v1/messages/5/payload").Body.String())
	require.Contains(t, s.get("/api/v1/messages/5/payload").Body.String(), `1.10`)
	require.NotContains(t, page("6"), "s3cret", "it is not JSON, so nobody knows where the card is")
	require.Contains(t, s.get("/messages/6").Body.String(), "withheld")
	require.Equal(t, 403, s.get("/api/v1/messages/6/payload").Code)
}

// What a decoder says of a payload that is withheld is in the log alone: it may quote it.
func TestRedaction_DecoderErrors(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newShop(t, func(c *dashboard.Config) {
		c.Redact = &dashboard.Redaction{Paths: []string{"card"}}
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		c.Decoders = []dashboard.Decoder{{Topics: "t", Decode: func(_ string, _ map[string]string, payload []byte) ([]byte, error) {
			if payload[0] == 'p' {
				panic(string(payload))
			}
			return nil, errors.New("bad wire type in " + string(payload))
		}}}
	})
	s.enqueue(outbox.Message{Topic: "t", Payload: []byte("card=s3cret")}, outbox.Message{Topic: "t", Payload: []byte("pin=s3cret")})
	for _, seq := range []string{"5", "6"} {
		for _, target := range []string{"/messages/", "/api/v1/messages/"} {
			body := s.get(target + seq).Body.String()
			require.NotContains(t, body, "s3cret")
			require.Contains(t, body, "could not be decoded")
		}
	}
	require.Contains(t, log.String(), "bad wire type")
}

// A payload is shown as what it is, a decoder's error in its place, and a download has all.
func TestPayload(t *testing.T) {
	t.Parallel()
	s := newShop(t, func(c *dashboard.Config) {
		c.MaxShown = 100
		c.Decoders = []dashboard.Decoder{
			{Topics: "proto.*", Decode: func(_ string, _ map[string]string, payload []byte) ([]byte, error) {
				switch string(payload) {
				case "\x01panic":
					panic("boom")
				case "\x01bad":
					return nil, errors.New("no such type")
				}
				return []byte(`{"decoded":true}`), nil
			}},
		}
	})
	long := strings.Repeat("é", 100)
	for i, c := range []struct {
		topic, payload, form, text, err string
		truncated                       bool
	}{
		{"t", `{"n":1.0}`, "json", "{\n  \"n\": 1.0\n}", "", false},
		{"t", "plain", "text", "plain", "", false},
		{"t", "\x00\xff", "hex", "00000000  00 ff                                             |..|\n", "", false},
		{"t", long, "text", long[:100], "", true},
		{"t", "", "text", "", "", false},
		{"proto.a", "\x01x", "json", "{\n  \"decoded\": true\n}", "", false},
		{"proto.a", "\x01bad", "hex", "", "no such type", false},
		{"proto.a", "\x01panic", "hex", "", "boom", false},
	} {
		s.enqueue(outbox.Message{Topic: c.topic, Payload: []byte(c.payload)})
		seq := itoa(i + 5)
		var m struct {
			Payload struct {
				Bytes             int
				Form, Text, Error string
				Truncated         bool
			}
		}
		require.NoError(t, json.Unmarshal(s.get("/api/v1/messages/"+seq).Body.Bytes(), &m))
		require.Equal(t, c.form, m.Payload.Form, c.payload)
		if c.err == "" {
			require.Equal(t, c.text, m.Payload.Text)
		}
		require.Contains(t, m.Payload.Error, c.err)
		require.Equal(t, c.truncated, m.Payload.Truncated)
		require.Equal(t, len(c.payload), m.Payload.Bytes)
		w := s.get("/api/v1/messages/" + seq + "/payload")
		require.Equal(t, c.payload, w.Body.String())
		require.Equal(t, "application/octet-stream", w.Header().Get("Content-Type"))
		require.Contains(t, w.Header().Get("Content-Disposition"), "attachment")
	}
}

func itoa(n int) string { b, _ := json.Marshal(n); return string(b) }

// FuzzIndent: what is made readable is the same value, and what is bounded is bounded.
func FuzzIndent(f *testing.F) {
	f.Add(`{"a":[1,{"b":"x\"y\\"},[],{}],"c":" "}`)
	f.Add(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			return
		}
		if len(text) < 1000 {
			require.JSONEq(t, text, string(dashboard.Indent([]byte(text), 1<<30)))
		}
		require.LessOrEqual(t, len(dashboard.Indent([]byte(text), 1000)), 1000+2*len(text)+2)
	})
}

// Whoever has to keep who saw what is told before anything is shown, and can refuse it.
func TestOnView(t *testing.T) {
	t.Parallel()
	var views []dashboard.View
	var refusal error
	s := newShop(t, func(c *dashboard.Config) {
		c.OnView = func(_ context.Context, v dashboard.View) error {
			views = append(views, v)
			return refusal
		}
	})
	for _, target := range []string{"/messages/1", "/api/v1/messages/1", "/api/v1/messages/1/payload"} {
		require.Equal(t, 200, s.get(target).Code, target)
	}
	require.Len(t, views, 3)
	require.Equal(t, []bool{false, false, true}, []bool{views[0].Download, views[1].Download, views[2].Download})
	for _, v := range views {
		require.Equal(t, "ann", v.Actor)
		require.NotEmpty(t, v.Address)
		require.NotEmpty(t, v.Outbox)
		require.NotEmpty(t, v.Topic)
		require.NotEmpty(t, v.ID)
	}
	require.Equal(t, 200, s.get("/messages").Code)
	require.Len(t, views, 3, "a list shows no payload")

	refusal = errors.New("the ledger is full")
	for _, target := range []string{"/messages/1", "/api/v1/messages/1", "/api/v1/messages/1/payload"} {
		w := s.get(target)
		require.Equal(t, 500, w.Code, target)
		require.NotContains(t, w.Body.String(), "bob@example.com")
		require.NotContains(t, w.Body.String(), "ledger")
	}
}
