package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

func commitChecks() []Check {
	return []Check{
		{Name: "O1_RowExistsIffCommitted", run: rowExistsIffCommitted},
		{Name: "O1_EndedTransactionIsRefused", run: endedTransactionIsRefused},
		{Name: "O1_TransactionFromContext", run: transactionFromContext},
		{Name: "O1_NoMessageIsNoOp", run: noMessageIsNoOp},
		{Name: "O3_NothingReadableBeforeCommit", run: nothingReadableBeforeCommit, skip: oneWriter},
		{Name: "O1_AllOrNothing", run: allOrNothing},
		{Name: "O1_BadInputIsRefused", run: badInputIsRefused},
	}
}

func rowExistsIffCommitted(ctx context.Context, tr *trial) {
	var want []string
	for i, committed := range []bool{true, false, true, true, false} {
		batch := numbered(fmt.Sprintf("tx%d", i), 3)
		fail.If(tr.finish(ctx, committed, named(batch...)...))
		if committed {
			want = append(want, batch...)
		}
	}
	// Several calls in one transaction, and one large call.
	tx := tr.open(ctx, named("first call")...)
	big := numbered("big", 300)
	if most := tr.features.MaxMessages; most > 0 {
		big = big[:min(len(big), most-1)]
	}
	fail.IfAny(tx.Enqueue(ctx, named(big...)...), tx.Commit(ctx))
	want = append(append(want, "first call"), big...)
	tr.expectAll(ctx, want...)
}

func endedTransactionIsRefused(ctx context.Context, tr *trial) {
	for _, commit := range []bool{true, false} {
		tx := tr.open(ctx, named("open")...)
		fail.If(end(ctx, tx, commit))
		expectError("enqueue in a transaction that has ended", tx.Enqueue(ctx, named("after the end")...), outbox.ErrNotInTransaction)
	}
	tr.expectAll(ctx, "open")
}

func transactionFromContext(ctx context.Context, tr *trial) {
	expectError("enqueue without a transaction", tr.EnqueueContext(ctx, named("no transaction")...), outbox.ErrNotInTransaction)
	for _, commit := range []bool{false, true} {
		tx := tr.begin(ctx)
		fail.If(tr.EnqueueContext(tx.Context(ctx), named(fmt.Sprintf("committed %t", commit))...), "EnqueueContext")
		fail.If(end(ctx, tx, commit))
	}
	tr.expectAll(ctx, "committed true")
}

func noMessageIsNoOp(ctx context.Context, tr *trial) {
	tx := tr.open(ctx)
	fail.If(tr.EnqueueContext(tx.Context(ctx)), "EnqueueContext of nothing")
	fail.If(tx.Commit(ctx))
	tr.expectAll(ctx)
}

func nothingReadableBeforeCommit(ctx context.Context, tr *trial) {
	r := tr.acquire(ctx)
	tx := tr.open(ctx, append(named("a"), keyed("k", "b")...)...)
	fail.In("while the transaction is open", func() { r.expectDrain(ctx, 10) })
	tr.commit(ctx, named("c")...)
	fail.In("while the transaction is open and another has committed", func() { r.expectDrain(ctx, 10, "c") })
	fail.If(tx.Rollback(ctx))
	fail.In("after the rollback", func() { r.expectDrain(ctx, 10) })
	tr.commit(ctx, keyed("k", "d")...)
	r.expectDrain(ctx, 10, "d")
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
func badInputIsRefused(ctx context.Context, tr *trial) {
	tx := tr.begin(ctx)
	for _, bad := range badInputs(tr.features.MaxPayloadBytes) {
		msgs := named("good", "bad")
		bad.spoil(&msgs[1])
		fail.If(refusal(tx.Enqueue(ctx, msgs...), 1, bad.field), bad.name)
		fail.If(refusal(tr.EnqueueContext(tx.Context(ctx), msgs...), 1, bad.field), bad.name, "EnqueueContext")
	}
	fail.IfAny(tx.Enqueue(ctx, named("after")...), tx.Commit(ctx))
	tr.expectAll(ctx, "after")
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

func allOrNothing(ctx context.Context, tr *trial) {
	msgs := named(numbered("refused", 200)...)
	msgs[199].Topic = ""
	tx := tr.open(ctx, named("before")...)
	fail.If(refusal(tx.Enqueue(ctx, msgs...), 199, "Topic"))
	fail.If(tx.Commit(ctx), "commit after a refused call")
	tr.expectAll(ctx, "before")
}
