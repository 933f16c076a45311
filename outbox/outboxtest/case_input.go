package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/outbox"
)

func inputChecks() []Check {
	return []Check{
		{Name: "O1_AllOrNothing", run: allOrNothing},
		{Name: "O1_BadInputIsRefused", run: badInputIsRefused},
	}
}

// badInput is a message that must be refused because of field.
type badInput struct {
	name, field string
	spoil       func(m *outbox.Message)
}

func badInputs(maxPayload int) []badInput {
	header := func(name, value string) func(m *outbox.Message) {
		return func(m *outbox.Message) { m.Headers = map[string]string{name: value} }
	}
	at := func(year int) func(m *outbox.Message) {
		return func(m *outbox.Message) { m.OccurredAt = time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC) }
	}
	bad := []badInput{
		{"empty topic", "Topic", func(m *outbox.Message) { m.Topic = "" }},
		{"large payload", "Payload", func(m *outbox.Message) { m.Payload = make([]byte, maxPayload+1) }},
		{"year 0", "OccurredAt", at(0)},
		{"year 10000", "OccurredAt", at(10_000)},
		{"empty header name", "Headers", header("", "v")},
		{"long headers", "Headers", func(m *outbox.Message) {
			half := strings.Repeat("v", outbox.MaxHeaderBytes/2)
			m.Headers = map[string]string{"a": half, "b": half}
		}},
		{"NUL in a header name", "Headers", header("a\x00", "v")},
		{"invalid header name", "Headers", header("a\xff", "v")},
		{"NUL in a header", `Headers["a"]`, header("a", "v\x00")},
		{"invalid header", `Headers["a"]`, header("a", "\xff")},
	}
	for _, name := range []string{
		outbox.HeaderEventID, outbox.HeaderEventType, outbox.HeaderEventTime, outbox.HeaderKey, outbox.HeaderWatermillUUID,
	} {
		bad = append(bad, badInput{"reserved header " + name, fmt.Sprintf("Headers[%q]", name), header(name, "v")})
	}
	for _, text := range []struct {
		field string
		limit int
		set   func(m *outbox.Message, s string)
	}{
		{"ID", outbox.MaxIDBytes, func(m *outbox.Message, s string) { m.ID = s }},
		{"Topic", outbox.MaxTopicBytes, func(m *outbox.Message, s string) { m.Topic = s }},
		{"Key", outbox.MaxKeyBytes, func(m *outbox.Message, s string) { m.Key = s }},
		{"Type", outbox.MaxTypeBytes, func(m *outbox.Message, s string) { m.Type = s }},
	} {
		bad = append(
			bad,
			badInput{"long " + text.field, text.field, func(m *outbox.Message) { text.set(m, strings.Repeat("x", text.limit+1)) }},
			badInput{"NUL in " + text.field, text.field, func(m *outbox.Message) { text.set(m, "x\x00") }},
			badInput{"invalid " + text.field, text.field, func(m *outbox.Message) { text.set(m, "x\xff") }},
		)
	}
	return bad
}

// badInputIsRefused also shows that a refused call leaves the transaction
// usable: nothing reached the database.
func badInputIsRefused(ctx context.Context, tr *trial) error {
	tx, err := tr.begin(ctx)
	if err != nil {
		return err
	}
	for _, bad := range badInputs(tr.features.MaxPayloadBytes) {
		msgs := named("good", "bad")
		bad.spoil(&msgs[1])
		if err := refusal(tx.Enqueue(ctx, msgs...), 1, bad.field); err != nil {
			return fmt.Errorf("%s: %w", bad.name, err)
		}
		if err := refusal(tr.EnqueueContext(tx.Context(ctx), msgs...), 1, bad.field); err != nil {
			return fmt.Errorf("%s: EnqueueContext: %w", bad.name, err)
		}
	}
	if err := errors.Join(tx.Enqueue(ctx, named("after")...), tx.Commit(ctx)); err != nil {
		return err
	}
	return tr.expectAll(ctx, "after")
}

// refusal checks that err is about field of the message at index.
func refusal(err error, index int, field string) error {
	bad, ok := errors.AsType[*outbox.InvalidMessageError](err)
	switch {
	case !ok || !errors.Is(err, outbox.ErrInvalidMessage):
		return unexpected("enqueue", err, outbox.ErrInvalidMessage)
	case bad.Field != field || bad.Index != index:
		return fmt.Errorf("error names messages[%d].%s, want messages[%d].%s", bad.Index, bad.Field, index, field)
	case bad.Value == "" || bad.Reason == "":
		return fmt.Errorf("error names no value or no reason: %w", err)
	case !strings.Contains(err.Error(), field) || !strings.Contains(err.Error(), bad.Value):
		return fmt.Errorf("error does not show field %s and value %s: %w", field, bad.Value, err)
	}
	return nil
}

func allOrNothing(ctx context.Context, tr *trial) error {
	msgs := named(numbered("refused", 200)...)
	msgs[199].Topic = ""
	tx, err := tr.open(ctx, named("before")...)
	if err != nil {
		return err
	}
	if err := refusal(tx.Enqueue(ctx, msgs...), 199, "Topic"); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit after a refused call: %w", err)
	}
	return tr.expectAll(ctx, "before")
}
