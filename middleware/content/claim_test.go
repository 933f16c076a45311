package content_test

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

func large(id string, size int) outbox.Message {
	return outbox.Message{ID: id, Topic: "scans", Type: "Scanned", Payload: []byte(strings.Repeat("x", size))}
}

// TestC31_PutBeforeInsert: C31. A store that is unavailable fails the transaction. One that rolls
// back leaves what was put, and Encode puts before the transaction begins.
func TestC31_PutBeforeInsert(t *testing.T) {
	t.Parallel()
	store := newBlobs()
	c := newContent(t, content.Config{Claim: &content.Claim{Blobs: store, Over: 100}})
	ob := newOutbox(t)
	enqueue := func(fails error) error {
		return ob.InTx(t.Context(), func(ctx context.Context, _ *memoutbox.Tx) error {
			if err := c.Enqueuer(ob).EnqueueContext(ctx, large("1", 101)); err != nil {
				return err
			}
			return fails
		})
	}
	store.err = errAway
	require.ErrorIs(t, enqueue(nil), errAway)
	store.err = nil
	require.ErrorIs(t, enqueue(errAway), errAway)
	require.Empty(t, ob.Committed())
	require.Len(t, store.data, 1, "an orphan")
	for key := range store.data {
		require.Regexp(t, `^`+time.Now().UTC().Format("2006/01/02")+`/[0-9a-f]{64}$`, key)
	}

	encoded := encode(t, c, large("1", 101))
	store.err = errAway
	require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, _ *memoutbox.Tx) error {
		return ob.EnqueueContext(ctx, encoded)
	}))
	require.Len(t, ob.Committed(), 1)
	require.Len(t, store.data, 1, "the same payload has the same key")
}

// TestC32_References: C32. A small payload stays, a large one is a reference that is never
// empty, and the handler gets what was put.
func TestC32_References(t *testing.T) {
	t.Parallel()
	store := newBlobs()
	c := newContent(t, content.Config{Claim: &content.Claim{Blobs: store, Over: 100, Max: 200}})
	for size, claimed := range map[int]bool{0: false, 100: false, 101: true, 200: true} {
		m := encode(t, c, large("1", size))
		require.Equal(t, claimed, m.Headers["content-claim"] == "1")
		if claimed {
			require.Less(t, len(m.Payload), 200)
			require.True(t, json.Valid(m.Payload))
		}
		msg := deliver(t, m)
		payload, err := open(t, c, msg)
		require.NoError(t, err)
		require.Len(t, payload, size)
		require.Equal(t, string(m.Payload), string(msg.Payload))
		shown, err := c.Show("scans", msg.Metadata, msg.Payload)
		require.NoError(t, err)
		require.Len(t, shown, size)
	}
	_, err := c.Encode(t.Context(), large("0", 1), large("1", 201))
	require.ErrorIs(t, err, outbox.ErrInvalidMessage)
	require.ErrorContains(t, err, "messages[1].Payload is larger than Claim.Max, 200 bytes")

	tomb := outbox.Message{Topic: "scans", Key: "1", Headers: map[string]string{outbox.HeaderTombstone: "1"}}
	require.Equal(t, tomb, encode(t, newContent(t, content.Config{
		Claim: &content.Claim{Blobs: store}, CloudEvents: &content.CloudEvents{Source: "/shop", Structured: true},
	}), tomb))
}

// TestC32_BadReferences: C32. What is not what was put is never given to a handler, and a
// reference leads nowhere else.
func TestC32_BadReferences(t *testing.T) {
	t.Parallel()
	good := strings.Repeat("a", 64)
	for name, tt := range map[string]struct {
		payload, header string
		change          func(b *blobs, key string)
		err             string
		asked           bool
		temporary       bool
	}{
		"gone":       {change: func(b *blobs, key string) { delete(b.data, key) }, err: "the payload is deleted", asked: true},
		"away":       {change: func(b *blobs, _ string) { b.err = errAway }, err: "connection refused", asked: true, temporary: true},
		"changed":    {change: func(b *blobs, key string) { b.data[key] = []byte(strings.Repeat("y", 150)) }, err: "is not what was put", asked: true},
		"shorter":    {change: func(b *blobs, key string) { b.data[key] = b.data[key][:149] }, err: "is not what was put", asked: true},
		"too large":  {payload: `{"claim":"2026/11/29/` + good + `","bytes":201}`, err: "has 201 bytes, and 200 are allowed"},
		"negative":   {payload: `{"claim":"2026/11/29/` + good + `","bytes":-1}`, err: "cannot be read"},
		"traversal":  {payload: `{"claim":"2026/11/29/../../../etc/passwd","bytes":1}`, err: "cannot be read"},
		"elsewhere":  {payload: `{"claim":"https://example.com/` + good + `","bytes":1}`, err: "cannot be read"},
		"two lines":  {payload: `{"claim":"2026/11/29/` + good + `\n","bytes":1}`, err: "cannot be read"},
		"no JSON":    {payload: "x", err: "cannot be read"},
		"null":       {payload: "null", err: "cannot be read"},
		"empty":      {payload: " ", err: "cannot be read"},
		"other form": {header: "2", err: `form "2"`, temporary: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newBlobs()
			c := newContent(t, content.Config{Claim: &content.Claim{Blobs: store, Over: 100, Max: 200}})
			msg := deliver(t, encode(t, c, large("1", 150)))
			for key := range store.data {
				if tt.change != nil {
					tt.change(store, key)
				}
			}
			if tt.payload != "" {
				msg.Payload = []byte(tt.payload)
			}
			if tt.header != "" {
				msg.Metadata["content-claim"] = tt.header
			}
			_, err := open(t, c, msg)
			require.ErrorContains(t, err, tt.err)
			require.ErrorContains(t, err, `message "1"`)
			require.Equal(t, tt.temporary, !inbox.IsPermanent(err))
			require.Equal(t, name != "away", inbox.ShouldPoison(err), "an outage is not the message's fault")
			require.Equal(t, tt.asked, store.gets > 0)
		})
	}
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}})
	m := encode(t, c, personal("1"))
	m.Headers["content-claim"] = "1"
	_, err := open(t, c, deliver(t, m))
	require.ErrorContains(t, err, "the store of large payloads is not set")
}

// TestC32_SealedBeforeItIsPut: what is kept beside the outbox is sealed as well, and an
// unsealed reference is refused before anything is fetched.
func TestC32_SealedBeforeItIsPut(t *testing.T) {
	t.Parallel()
	store := newBlobs()
	c := newContent(t, content.Config{Seal: &content.Seal{Keys: newKeys()}, Claim: &content.Claim{Blobs: store, Over: 10}})
	m := encode(t, c, personal("1"))
	for _, data := range store.data {
		require.NotContains(t, string(data), "Lovelace")
	}
	payload, err := open(t, c, deliver(t, m))
	require.NoError(t, err)
	require.Equal(t, string(personal("").Payload), string(payload))
	msg := deliver(t, m)
	delete(msg.Metadata, "content-key")
	store.gets = 0
	_, err = open(t, c, msg)
	require.ErrorContains(t, err, "is not sealed")
	require.Zero(t, store.gets)
}

// TestC32_AShownPayloadIsBounded: a page fetches no hundred megabytes.
func TestC32_AShownPayloadIsBounded(t *testing.T) {
	t.Parallel()
	c := newContent(t, content.Config{Claim: &content.Claim{Blobs: newBlobs()}})
	msg := deliver(t, encode(t, c, large("1", 10<<20+1)))
	_, err := c.Show("scans", msg.Metadata, msg.Payload)
	require.ErrorContains(t, err, "10485760 are allowed")
	_, err = open(t, c, msg)
	require.NoError(t, err)
}

// TestC32_AwayParksNothing: an outage of the store is not the message's fault, in batches
// either.
func TestC32_AwayParksNothing(t *testing.T) {
	t.Parallel()
	blobs := newBlobs()
	c := newContent(t, content.Config{Claim: &content.Claim{Blobs: blobs, Over: 1}})
	var store meminbox.Store
	in := newInbox(t, &store, inbox.Policy{Action: inbox.Park, Attempts: 1})
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	require.NoError(t, err)
	msgs := make([]*message.Message, 5)
	for i := range msgs {
		msgs[i] = deliver(t, encode(t, c, large(strconv.Itoa(i), 10)))
	}
	ran := 0
	handle := batch.Handle(c.Batch(func(_ context.Context, msgs []*message.Message) error { ran += len(msgs); return nil }))
	blobs.err = errAway
	for _, err := range handle(t.Context(), msgs) {
		require.ErrorIs(t, err, errAway)
	}
	blobs.err = nil
	for _, err := range handle(t.Context(), msgs) {
		require.NoError(t, err)
	}
	require.Equal(t, 5, ran)
	require.Empty(t, parked(t, &store))
}
