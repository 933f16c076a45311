package content_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 5000, time.UTC)

func event() outbox.Message {
	return outbox.Message{
		ID: "1", Topic: "orders", Key: "17", Type: "shop.OrderPlaced", Payload: []byte(`{ "order": 17 }`), OccurredAt: noon,
		Headers: map[string]string{"content-type": "application/json", "event-version": "2", "ce_tenant": "acme", "trace": "t-1"},
	}
}

func events(tb testing.TB, structured bool) *content.Content {
	tb.Helper()
	return newContent(tb, content.Config{CloudEvents: &content.CloudEvents{
		Source: "/shop", Structured: structured, Subject: func(m *outbox.Message) string { return m.Key },
	}})
}

// TestC21_Attributes: C21, C22. What is sent in both modes, and what a handler sees.
func TestC21_Attributes(t *testing.T) {
	t.Parallel()
	binary := encode(t, events(t, false), event())
	require.Equal(t, map[string]string{
		"content-type": "application/json", "event-version": "2", "trace": "t-1", "ce_specversion": "1.0", "ce_id": "1", "ce_source": "/shop",
		"ce_type": "shop.OrderPlaced", "ce_time": "2026-11-29T12:00:00.000005Z", "ce_subject": "17", "ce_tenant": "acme", "ce_eventversion": "2",
	}, binary.Headers)
	require.Equal(t, event().Payload, binary.Payload)

	structured := encode(t, events(t, true), event())
	require.Equal(t, map[string]string{"content-type": "application/cloudevents+json", "event-version": "2", "trace": "t-1"}, structured.Headers)
	require.JSONEq(t, `{"specversion":"1.0","id":"1","source":"/shop","type":"shop.OrderPlaced","time":"2026-11-29T12:00:00.000005Z",
		"subject":"17","tenant":"acme","eventversion":"2","datacontenttype":"application/json","data":{"order":17}}`, string(structured.Payload))

	var seen []message.Metadata
	for _, m := range []outbox.Message{binary, structured} {
		msg := deliver(t, m)
		before := msg.Copy()
		_, err := events(t, false).Middleware(func(msg *message.Message) ([]*message.Message, error) {
			require.Equal(t, string(event().Payload), string(msg.Payload), "byte for byte")
			seen = append(seen, msg.Metadata)
			return nil, nil
		})(msg)
		require.NoError(t, err)
		require.True(t, before.Equals(msg))
	}
	require.Equal(t, seen[0], seen[1], "a handler does not see the mode")
	require.Equal(t, "2", seen[0]["event-version"])
	require.Equal(t, "shop.OrderPlaced", seen[0]["event-type"])
	require.Equal(t, "acme", seen[0]["ce_tenant"])
	require.Equal(t, "17", seen[0]["ce_subject"])
}

// TestC21_Time: C21. The attribute is the time that is stored, even if nobody gave one.
func TestC21_Time(t *testing.T) {
	t.Parallel()
	m := event()
	m.OccurredAt = time.Time{}
	m = encode(t, events(t, false), m)
	require.WithinDuration(t, time.Now(), m.OccurredAt, time.Minute)
	require.Equal(t, outbox.FormatEventTime(m.OccurredAt), m.Headers["ce_time"])
	require.Equal(t, m.OccurredAt, m.OccurredAt.Truncate(time.Microsecond), "a database keeps it")
}

// TestC21_RequiredAttributes: C21.
func TestC21_RequiredAttributes(t *testing.T) {
	t.Parallel()
	m := event()
	m.Type = ""
	_, err := events(t, true).Encode(t.Context(), m)
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, "messages[0].Type must not be empty in a CloudEvent")
	for _, name := range []string{"ce_Tenant", "ce_a-b", "ce_", "ce_data"} {
		m := event()
		m.Headers[name] = "x"
		_, err = events(t, true).Encode(t.Context(), m)
		require.ErrorContains(t, err, "is not the name of an attribute")
	}
	m = event()
	m.ID = ""
	m = encode(t, events(t, false), m)
	require.NotEmpty(t, m.ID)
	require.Equal(t, m.ID, m.Headers["ce_id"])
}

// TestC22_Prefixes: C22.
func TestC22_Prefixes(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"cloudEvents_", "cloudEvents:", "ce-"} {
		c := newContent(t, content.Config{CloudEvents: &content.CloudEvents{Source: "/shop", Prefix: prefix}})
		m := encode(t, c, outbox.Message{ID: "1", Topic: "orders", Type: "shop.OrderPlaced"})
		require.Equal(t, "1", m.Headers[prefix+"id"])
		_, err := open(t, c, deliver(t, m))
		require.NoError(t, err)
		id, err := inbox.IDFromCloudEvent().Find(deliver(t, m))
		require.NoError(t, err)
		require.Equal(t, "/shop 1", id)
	}
}

// TestC22_AnyPayload: structured mode carries any bytes.
func TestC22_AnyPayload(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "application/json", "application/vnd.shop+json; charset=UTF-8", "avro/binary", "text/plain"} {
		for _, payload := range []string{"", "null", `"text"`, "{}", "17", "\x00\x01\xff", "not json", "<a>&amp;</a>", `{"a":"<>&"}`} {
			m := event()
			m.Payload, m.Headers = []byte(payload), map[string]string{"content-type": kind}
			m = encode(t, events(t, true), m)
			require.True(t, json.Valid(m.Payload), "%s", m.Payload)
			got, err := open(t, events(t, true), deliver(t, m))
			require.NoError(t, err)
			require.Equal(t, payload, string(got), "as %s", kind)
		}
		m := event()
		m.Payload = []byte(" {\"a\":1}\n")
		got, err := open(t, events(t, true), deliver(t, encode(t, events(t, true), m)))
		require.NoError(t, err)
		require.JSONEq(t, `{"a":1}`, string(got), "spaces around a value are not part of it")
	}
}

// TestC23_Foreign: C23. What other SDKs send is read; what is not a CloudEvent stays; what
// claims to be one and is not, is permanent.
func TestC23_Foreign(t *testing.T) {
	t.Parallel()
	const minimal = `"specversion":"1.0","id":"7","source":"/x","type":"t"`
	for name, tt := range map[string]struct {
		metadata      message.Metadata
		payload, want string
		err           string
		plain         bool // not an event
	}{
		"structured":           {message.Metadata{"content-type": "application/cloudevents+json; charset=utf-8"}, "{" + minimal + `,"data":{"a":1}}`, `{"a":1}`, "", false},
		"called plain JSON":    {message.Metadata{"content-type": "application/json"}, " {" + minimal + `,"data":{"a":1}}`, `{"a":1}`, "", false},
		"called nothing":       {nil, "{" + minimal + `,"data_base64":"AAE="}`, "\x00\x01", "", false},
		"text as a string":     {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"datacontenttype":"text/plain","data":"a\n"}`, "a\n", "", false},
		"JSON string":          {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"data":"a"}`, `"a"`, "", false},
		"no data":              {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `}`, "", "", false},
		"null data":            {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"data":null,"subject":null}`, "", "", false},
		"number, boolean":      {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"n":17,"b":true}`, "", "", false},
		"binary":               {message.Metadata{"ce_specversion": "1.0", "ce_id": "7", "ce_source": "/x", "ce_type": "t"}, "x", "x", "", false},
		"plain":                {message.Metadata{"content-type": "application/json"}, `{"a":"specversion"}`, `{"a":"specversion"}`, "", true},
		"plain, nested":        {nil, `{"a":{"specversion":"1.0"}}`, `{"a":{"specversion":"1.0"}}`, "", true},
		"plain, not JSON":      {nil, "   ", "   ", "", true},
		"plain, empty":         {nil, "", "", "", true},
		"batch":                {message.Metadata{"content-type": "application/cloudevents-batch+json"}, "[]", "", "not supported", false},
		"other format":         {message.Metadata{"content-type": "application/cloudevents+avro"}, "x", "", "not supported", false},
		"version 0.3":          {message.Metadata{"ce_specversion": "0.3", "ce_id": "7", "ce_source": "/x", "ce_type": "t"}, "x", "", `CloudEvents "0.3" are not supported`, false},
		"no id":                {message.Metadata{"ce_specversion": "1.0", "ce_source": "/x", "ce_type": "t"}, "x", "", "has no id", false},
		"empty type":           {message.Metadata{"content-type": "application/cloudevents+json"}, `{"specversion":"1.0","id":"7","source":"/x","type":""}`, "", "has no type", false},
		"number as id":         {message.Metadata{"content-type": "application/cloudevents+json"}, `{"specversion":"1.0","id":7,"source":"/x","type":"t"}`, "", `attribute "id" is not one`, false},
		"object":               {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"x":{}}`, "", `attribute "x" is not one`, false},
		"bad name":             {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"X":"1"}`, "", `attribute "X" is not one`, false},
		"both kinds of data":   {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"data":1,"data_base64":""}`, "", "data and data_base64", false},
		"bad base64":           {message.Metadata{"content-type": "application/cloudevents+json"}, "{" + minimal + `,"data_base64":"?"}`, "", "cannot be read", false},
		"not JSON":             {message.Metadata{"content-type": "application/cloudevents+json"}, "{", "", "cannot be read", false},
		"null":                 {message.Metadata{"content-type": "application/cloudevents+json"}, "null", "", "cannot be read", false},
		"nothing, called JSON": {message.Metadata{"content-type": "application/json"}, "{" + `"specversion":`, `{"specversion":`, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := message.NewMessageWithContext(t.Context(), "u", []byte(tt.payload))
			msg.Metadata = tt.metadata
			var seen message.Metadata
			var payload string
			_, err := events(t, false).Middleware(func(msg *message.Message) ([]*message.Message, error) {
				seen, payload = msg.Metadata, string(msg.Payload)
				return nil, nil
			})(msg)
			require.Equal(t, tt.payload, string(msg.Payload))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				require.ErrorContains(t, err, `message "u"`)
				require.True(t, inbox.IsPermanent(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, payload)
			if !tt.plain {
				require.Equal(t, "t", seen["event-type"])
				require.Equal(t, "7", seen["ce_id"])
				require.Empty(t, seen["ce_subject"])
			}
			if name == "number, boolean" {
				require.Equal(t, "17 true", fmt.Sprint(seen["ce_n"], " ", seen["ce_b"]))
			}
		})
	}
}

// TestC23_TheEnvelopeCounts: what an envelope lacks is not taken from headers.
func TestC23_TheEnvelopeCounts(t *testing.T) {
	t.Parallel()
	msg := message.NewMessageWithContext(t.Context(), "u", []byte(`{"specversion":"1.0","id":"7","source":"/x","type":"t","data":1}`))
	msg.Metadata = message.Metadata{"content-type": "application/cloudevents+json", "event-version": "9", "event-type": "other"}
	_, err := events(t, false).Middleware(func(msg *message.Message) ([]*message.Message, error) {
		require.Equal(t, "t", msg.Metadata["event-type"])
		require.NotContains(t, msg.Metadata, "event-version")
		require.NotContains(t, msg.Metadata, "content-type")
		return nil, nil
	})(msg)
	require.NoError(t, err)
}

// TestC24_TwoSources: C24. An id is unique for its source alone, in both modes.
func TestC24_TwoSources(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, structured := range []bool{false, true} {
		for _, source := range []string{"/shop", "/store"} {
			c := newContent(t, content.Config{CloudEvents: &content.CloudEvents{Source: source, Structured: structured}})
			msg := deliver(t, encode(t, c, event()))
			msg.UUID, msg.Metadata["event-id"] = "of the hop", "of the hop"
			id, err := inbox.IDFromCloudEvent().Find(msg)
			require.NoError(t, err)
			require.Equal(t, source+" 1", id)
			ids[id] = true
		}
	}
	require.Len(t, ids, 2)
}

// TestOneOrder: what is sealed may be large, and both may be in an event. The way back is
// the other way round.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	for _, structured := range []bool{false, true} {
		c := newContent(t, content.Config{
			Seal:        &content.Seal{Keys: newKeys()},
			Claim:       &content.Claim{Blobs: newBlobs(), Over: 100},
			CloudEvents: &content.CloudEvents{Source: "/shop", Structured: structured},
		})
		for _, size := range []int{10, 1000} {
			m := encode(t, c, outbox.Message{ID: "1", Topic: "scans", Key: "ada", Type: "Scanned", Payload: make([]byte, size)})
			msg := deliver(t, m)
			payload, err := open(t, c, msg)
			require.NoError(t, err)
			require.Len(t, payload, size)
			if structured { // all that is needed travels in the document
				require.Contains(t, string(m.Payload), `"contentkey":"ada/0"`)
				msg.Metadata = message.Metadata{"content-type": msg.Metadata["content-type"]}
				payload, err = open(t, c, msg)
				require.NoError(t, err)
				require.Len(t, payload, size)
			}
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]content.Config{
		"Config = {}":        {},
		"Seal.Keys":          {Seal: &content.Seal{}},
		"Claim.Blobs":        {Claim: &content.Claim{}},
		"Claim.Over":         {Claim: &content.Claim{Blobs: newBlobs(), Over: -1}},
		"Claim.Max":          {Claim: &content.Claim{Blobs: newBlobs(), Over: 10, Max: 9}},
		"CloudEvents.Source": {CloudEvents: &content.CloudEvents{}},
	} {
		_, err := content.New(cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, want)
	}
}
