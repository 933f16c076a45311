package sinktest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/leat-go/leat/outbox"
)

// record returns the next record of topic and key.
func (tr *trial) record(topic, key string) outbox.Record {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seq++
	at := time.Date(2024, 5, 6, 7, 8, 9, 123456000, time.UTC).Add(time.Duration(tr.seq) * time.Second)
	return outbox.Record{
		Message: outbox.Message{
			ID: "id-" + strconv.FormatInt(tr.seq, 10), Topic: topic, Key: key, Type: "Placed",
			Payload:    fmt.Appendf(nil, "payload %d", tr.seq),
			Headers:    map[string]string{"trace": strconv.FormatInt(tr.seq, 10)},
			OccurredAt: at,
		},
		Seq: tr.seq, CreatedAt: at,
	}
}

// records returns n records of topic, with the given number of keys in turns.
func (tr *trial) records(topic string, n, keys int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		out[i] = tr.record(topic, "key-"+strconv.Itoa(i%keys))
	}
	return out
}

// clone returns a copy of r that shares no memory.
func clone(r *outbox.Record) outbox.Record {
	out := *r
	out.Payload = bytes.Clone(r.Payload)
	out.Headers = maps.Clone(r.Headers)
	return out
}

// scribble overwrites what a sink must not have kept.
func scribble(r *outbox.Record) {
	for i := range r.Payload {
		r.Payload[i] = '!'
	}
	for name := range r.Headers {
		r.Headers[name] = "!"
	}
	*r = outbox.Record{Message: outbox.Message{ID: "!", Topic: "!", Key: "!"}}
}

// same returns an error where two messages differ, as far as f lets them arrive. Nil and empty
// are the same.
func same(want, got *outbox.Message, f Features) error {
	var errs []error
	for _, field := range [...]struct{ name, want, got string }{
		{"ID", want.ID, got.ID},
		{"Topic", want.Topic, got.Topic},
		{"Key", want.Key, got.Key},
		{"Type", want.Type, got.Type},
	} {
		if field.want != field.got && (field.name != "Key" || !f.NoKey) {
			errs = append(errs, fmt.Errorf("field %s: %.80q became %.80q", field.name, field.want, field.got))
		}
	}
	if !bytes.Equal(want.Payload, got.Payload) {
		errs = append(errs, fmt.Errorf("field Payload: %.80q became %.80q", want.Payload, got.Payload))
	}
	if !maps.Equal(want.Headers, got.Headers) {
		errs = append(errs, fmt.Errorf("field Headers: %.300q became %.300q", want.Headers, got.Headers))
	}
	if !want.OccurredAt.Equal(got.OccurredAt) {
		errs = append(errs, fmt.Errorf("field OccurredAt: %s became %s", want.OccurredAt, got.OccurredAt))
	}
	return errors.Join(errs...)
}
