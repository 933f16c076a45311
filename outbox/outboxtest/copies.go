package outboxtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

func copyChecks() []Check {
	return []Check{
		{Name: "O4_EveryCopyIsIdentical", run: everyCopyIsIdentical},
		{Name: "O4_CallerMayReuseItsSlices", run: callerMayReuseItsSlices},
		{Name: "O4_DefaultIDs", run: defaultIDs},
	}
}

// tricky returns messages that a careless table or wire format would change.
// Their ids differ; their OccurredAt is given in microseconds.
func tricky() []outbox.Message {
	at := time.Date(2024, 2, 29, 23, 59, 59, 123_456_000, time.FixedZone("", -5*3600))
	msgs := []outbox.Message{
		{ID: "0190163d-8694-739b-aea5-966c26f8ad91", Payload: []byte("canonical id")},
		{ID: "0190163D-8694-739B-AEA5-966C26F8AD92", Payload: []byte("upper-case id")},
		{ID: "{0190163d-8694-739b-aea5-966c26f8ad93}", Payload: []byte("braced id")},
		{ID: "0190163d8694739baea5966c26f8ad94", Payload: []byte("compact id")},
		{ID: "01J0B3V1MK1SVBHBJZ4AGXP5ZS", Payload: []byte("ulid")},
		{ID: " order 17/é\n", Payload: []byte("text with spaces")},
		{ID: strings.Repeat("i", outbox.MaxIDBytes), Payload: []byte("longest id")},
		{ID: "nil-payload"},
		{ID: "empty-payload", Payload: []byte{}},
		{ID: "all-bytes", Payload: allBytes()},
		{ID: "json", Payload: []byte(`{"b":1.0,"a":12345678901234567890,"a":"\u0000"}`)},
		{ID: "key", Key: "clé/17 \t", Payload: []byte("key")},
		{ID: "longest-key", Key: strings.Repeat("k", outbox.MaxKeyBytes)},
		{ID: "longest-topic", Topic: strings.Repeat("t", outbox.MaxTopicBytes)},
		{ID: "type", Type: "com.example.Order/placed v1"},
		{ID: "headers", Headers: map[string]string{
			"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			"empty":       "", "ünï": "\"quoted\" \\ \t\n", "Case": "A", "case": "a", "number": "1.0",
		}},
		{ID: "no-headers", Headers: map[string]string{}},
		{ID: "zone", OccurredAt: at},
		{ID: "before-epoch", OccurredAt: time.Date(1901, 1, 1, 0, 0, 0, 999_999_000, time.UTC)},
		{ID: "year-1", OccurredAt: time.Date(1, 1, 2, 0, 0, 0, 1000, time.UTC)},
		{ID: "year-9999", OccurredAt: time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)},
	}
	for i := range msgs {
		if msgs[i].Topic == "" {
			msgs[i].Topic = testTopic
		}
	}
	return msgs
}

func allBytes() []byte {
	b := make([]byte, 512)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// everyCopyIsIdentical reads the same records under three leases. Two of them end without
// settling anything, by expiry and by release.
func everyCopyIsIdentical(ctx context.Context, tr *trial) {
	want := tricky()
	tr.commit(ctx, want...)
	r := tr.acquire(ctx)
	var first []outbox.Record
	for i, next := range []func(context.Context, *reader) *reader{tr.takeOver, tr.hand, tr.hand} {
		p := r.page(ctx, 100)
		fail.In(fmt.Sprintf("copy %d", i+1), func() { sameAsEnqueued(p.Records, want) })
		if i == 0 {
			first = append(first, p.Records...)
		}
		for j := range p.Records {
			fail.If(sameRecord(&first[j], &p.Records[j]), fmt.Sprintf("record %q: copies 1 and %d differ", want[j].ID, i+1))
		}
		r = next(ctx, r)
	}
}

func sameAsEnqueued(got []outbox.Record, want []outbox.Message) {
	if len(got) != len(want) {
		fail.With("read %d records, want %d", len(got), len(want))
	}
	for i := range want {
		fail.If(sameMessage(&want[i], &got[i].Message), fmt.Sprintf("message %q: enqueued and read", want[i].ID))
		switch r := &got[i]; {
		case r.Seq <= 0:
			fail.With("message %q: Seq %d is not positive", r.ID, r.Seq)
		case r.CreatedAt.IsZero():
			fail.With("message %q: CreatedAt is zero", r.ID)
		case r.Shard < 0 || r.Shard >= keyhash.Shards:
			fail.With("message %q: Shard %d is not below %d", r.ID, r.Shard, keyhash.Shards)
		case r.Key != "" && r.Shard != keyhash.Shard([]byte(r.Key)):
			fail.With("message %q: Shard %d is not that of the key", r.ID, r.Shard)
		}
	}
}

// callerMayReuseItsSlices changes payload and headers between Enqueue and Commit, and enqueues a
// time with more digits than are stored.
func callerMayReuseItsSlices(ctx context.Context, tr *trial) {
	m := outbox.Message{
		ID: "reused", Topic: testTopic, Payload: []byte("before"), Headers: map[string]string{"h": "before"},
		OccurredAt: time.Date(2024, 1, 1, 0, 0, 0, 123_456_789, time.UTC),
	}
	want := m
	want.Payload = bytes.Clone(m.Payload)
	want.Headers = map[string]string{"h": "before"}
	want.OccurredAt = m.OccurredAt.Truncate(time.Microsecond)
	tx := tr.open(ctx, m)
	copy(m.Payload, "AFTER!")
	m.Headers["h"], m.Headers["x"] = "after", "after"
	fail.If(tx.Commit(ctx))
	got := tr.readAll(ctx)
	sameAsEnqueued(got, []outbox.Message{want})
}

func defaultIDs(ctx context.Context, tr *trial) {
	msgs := named(numbered("m", 50)...)
	tr.commit(ctx, msgs...)
	for i := range msgs {
		if msgs[i].ID != "" {
			fail.With("enqueue changed the caller's messages")
		}
	}
	got := tr.readAll(ctx)
	expect(got, numbered("m", 50)...)
	seen := make(map[string]bool, len(got))
	for i := range got {
		id := got[i].ID
		if _, canonical := ids.Map(id); !canonical || id[14] != '7' {
			fail.With("default id %q is not a canonical UUIDv7", id)
		}
		if seen[id] {
			fail.With("default id %q twice", id)
		}
		seen[id] = true
	}
}
