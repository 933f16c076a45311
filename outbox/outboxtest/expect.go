package outboxtest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

// names returns the payloads of records.
func names(records []outbox.Record) []string {
	out := make([]string, len(records))
	for i := range records {
		out[i] = string(records[i].Payload)
	}
	return out
}

// expect compares the payloads of got with want.
func expect(got []outbox.Record, want ...string) {
	if slices.Equal(names(got), want) {
		return
	}
	fail.With("read %s, want %v", describe(got), want)
}

// describe lists records by Seq and payload.
func describe(records []outbox.Record) string {
	const most = 50
	var b strings.Builder
	b.WriteByte('[')
	for i := range records {
		if i == most {
			fmt.Fprintf(&b, " … %d more", len(records)-most)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.FormatInt(records[i].Seq, 10))
		b.WriteByte(':')
		fmt.Fprintf(&b, "%.40s", records[i].Payload)
	}
	b.WriteByte(']')
	return b.String()
}

// expectSet compares the payloads of got with want as multisets.
func expectSet(got []outbox.Record, want []string) {
	count := make(map[string]int, len(want))
	for _, name := range want {
		count[name]++
	}
	for i := range got {
		count[string(got[i].Payload)]--
	}
	var lost, extra []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		switch n := count[name]; {
		case n > 0:
			lost = append(lost, name)
		case n < 0:
			extra = append(extra, name)
		}
	}
	if lost == nil && extra == nil {
		return
	}
	fail.With("read %d records, want %d: lost %v, twice or never committed %v", len(got), len(want), lost, extra)
}

// sameRecord returns an error if two copies of a record differ.
func sameRecord(a, b *outbox.Record) error {
	var errs []error
	if a.Seq != b.Seq {
		errs = append(errs, fmt.Errorf("field Seq: %d and %d", a.Seq, b.Seq))
	}
	if a.Shard != b.Shard {
		errs = append(errs, fmt.Errorf("field Shard: %d and %d", a.Shard, b.Shard))
	}
	if !a.CreatedAt.Equal(b.CreatedAt) {
		errs = append(errs, fmt.Errorf("field CreatedAt: %s and %s", a.CreatedAt, b.CreatedAt))
	}
	errs = append(errs, sameMessage(&a.Message, &b.Message))
	return errors.Join(errs...)
}

// sameMessage returns an error if two messages differ. Nil and empty are the same.
func sameMessage(a, b *outbox.Message) error {
	var errs []error
	for _, f := range [...]struct{ name, a, b string }{
		{"ID", a.ID, b.ID},
		{"Topic", a.Topic, b.Topic},
		{"Key", a.Key, b.Key},
		{"Type", a.Type, b.Type},
	} {
		if f.a != f.b {
			errs = append(errs, fmt.Errorf("field %s: %q and %q", f.name, f.a, f.b))
		}
	}
	if !bytes.Equal(a.Payload, b.Payload) {
		errs = append(errs, fmt.Errorf("field Payload: %.80q and %.80q", a.Payload, b.Payload))
	}
	if !maps.Equal(a.Headers, b.Headers) {
		errs = append(errs, fmt.Errorf("field Headers: %v and %v", a.Headers, b.Headers))
	}
	if !a.OccurredAt.Equal(b.OccurredAt) {
		errs = append(errs, fmt.Errorf("field OccurredAt: %s and %s", a.OccurredAt, b.OccurredAt))
	}
	return errors.Join(errs...)
}

// unexpected is the error about an operation that should have failed with want.
func unexpected(operation string, got, want error) error {
	if got == nil {
		return fmt.Errorf("%s: no error, want %w", operation, want)
	}
	return fmt.Errorf("%s: error %w, want %w", operation, got, want)
}

// expectError expects an operation to have failed with want, or to have succeeded if want is
// nil.
func expectError(operation string, got, want error) {
	if !errors.Is(got, want) {
		fail.Now(unexpected(operation, got, want))
	}
}
