package outboxtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

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

// everyCopyIsIdentical reads the same records under three leases: two that end
// without settling anything, by expiry and by release.
func everyCopyIsIdentical(ctx context.Context, tr *trial) error {
	want := tricky()
	if err := tr.commit(ctx, want...); err != nil {
		return err
	}
	r, err := tr.acquire(ctx)
	if err != nil {
		return err
	}
	var first []outbox.Record
	for i, next := range []func(context.Context, *reader) (*reader, error){tr.takeOver, tr.hand, tr.hand} {
		p, err := r.page(ctx, 100)
		if err != nil {
			return err
		}
		if err := sameAsEnqueued(p.Records, want); err != nil {
			return fmt.Errorf("copy %d: %w", i+1, err)
		}
		if i == 0 {
			first = append(first, p.Records...)
		}
		for j := range p.Records {
			if err := sameRecord(&first[j], &p.Records[j]); err != nil {
				return fmt.Errorf("record %q: copies 1 and %d differ: %w", want[j].ID, i+1, err)
			}
		}
		if r, err = next(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func sameAsEnqueued(got []outbox.Record, want []outbox.Message) error {
	if len(got) != len(want) {
		return fmt.Errorf("read %d records, want %d", len(got), len(want))
	}
	for i := range want {
		if err := sameMessage(&want[i], &got[i].Message); err != nil {
			return fmt.Errorf("message %q: enqueued and read: %w", want[i].ID, err)
		}
		switch r := &got[i]; {
		case r.Seq <= 0:
			return fmt.Errorf("message %q: Seq %d is not positive", r.ID, r.Seq)
		case r.CreatedAt.IsZero():
			return fmt.Errorf("message %q: CreatedAt is zero", r.ID)
		case r.Shard < 0 || r.Shard >= keyhash.Shards:
			return fmt.Errorf("message %q: Shard %d is not below %d", r.ID, r.Shard, keyhash.Shards)
		case r.Key != "" && r.Shard != keyhash.Shard([]byte(r.Key)):
			return fmt.Errorf("message %q: Shard %d is not that of the key", r.ID, r.Shard)
		}
	}
	return nil
}

// callerMayReuseItsSlices changes payload and headers between Enqueue and
// Commit, and enqueues a time with more digits than are kept.
func callerMayReuseItsSlices(ctx context.Context, tr *trial) error {
	m := outbox.Message{
		ID: "reused", Topic: testTopic, Payload: []byte("before"), Headers: map[string]string{"h": "before"},
		OccurredAt: time.Date(2024, 1, 1, 0, 0, 0, 123_456_789, time.UTC),
	}
	want := m
	want.Payload = bytes.Clone(m.Payload)
	want.Headers = map[string]string{"h": "before"}
	want.OccurredAt = m.OccurredAt.Truncate(time.Microsecond)
	tx, err := tr.open(ctx, m)
	if err != nil {
		return err
	}
	copy(m.Payload, "AFTER!")
	m.Headers["h"], m.Headers["x"] = "after", "after"
	if err := tx.Commit(ctx); err != nil {
		return err
	}
	got, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	return sameAsEnqueued(got, []outbox.Message{want})
}

func defaultIDs(ctx context.Context, tr *trial) error {
	msgs := named(numbered("m", 50)...)
	if err := tr.commit(ctx, msgs...); err != nil {
		return err
	}
	for i := range msgs {
		if msgs[i].ID != "" {
			return errors.New("enqueue changed the caller's messages")
		}
	}
	got, err := tr.readAll(ctx)
	if err != nil {
		return err
	}
	if err := expect(got, numbered("m", 50)...); err != nil {
		return err
	}
	seen := make(map[string]bool, len(got))
	for i := range got {
		id := got[i].ID
		if _, canonical := ids.Map(id); !canonical || id[14] != '7' {
			return fmt.Errorf("default id %q is no canonical UUIDv7", id)
		}
		if seen[id] {
			return fmt.Errorf("default id %q twice", id)
		}
		seen[id] = true
	}
	return nil
}
