package outboxtest

import (
	"context"
	"fmt"
	"strconv"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

const testTopic = "orders"

// named returns messages without a key whose payloads are names, by which the
// checks tell them apart.
func named(names ...string) []outbox.Message {
	return keyed("", names...)
}

// keyed is named with a key.
func keyed(key string, names ...string) []outbox.Message {
	msgs := make([]outbox.Message, len(names))
	for i, name := range names {
		msgs[i] = outbox.Message{Topic: testTopic, Key: key, Payload: []byte(name)}
	}
	return msgs
}

// about returns messages without a key, each of the topic that it names.
func about(topics ...string) []outbox.Message {
	msgs := make([]outbox.Message, len(topics))
	for i, topic := range topics {
		msgs[i] = outbox.Message{Topic: topic, Payload: []byte(topic)}
	}
	return msgs
}

// numbered returns the names prefix-1 … prefix-n.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + "-" + strconv.Itoa(i+1)
	}
	return names
}

// begin starts a transaction that is rolled back after the check at the latest.
func (tr *trial) begin(ctx context.Context) Tx {
	tx, err := tr.Begin(ctx)
	fail.If(err, "begin")
	clean := context.WithoutCancel(ctx)
	tr.cleanup(func() { _ = tx.Rollback(clean) }) // an error if it has ended already
	return tx
}

// open enqueues msgs in a transaction that it leaves open.
func (tr *trial) open(ctx context.Context, msgs ...outbox.Message) Tx {
	tx := tr.begin(ctx)
	fail.If(tx.Enqueue(ctx, msgs...), "enqueue")
	return tx
}

// openLate enqueues msgs in a transaction that stays open until commit is called. If there can be
// only one writer, commit does everything.
func (tr *trial) openLate(ctx context.Context, msgs ...outbox.Message) (commit func(context.Context)) {
	if tr.features.OneWriter {
		return func(ctx context.Context) { tr.commit(ctx, msgs...) }
	}
	tx := tr.open(ctx, msgs...)
	return func(ctx context.Context) { fail.If(tx.Commit(ctx)) }
}

// commit enqueues msgs in a separate transaction and commits it.
func (tr *trial) commit(ctx context.Context, msgs ...outbox.Message) {
	fail.If(tr.finish(ctx, true, msgs...))
}

// finish enqueues msgs in a separate transaction and ends it. Unlike open it leaves no cleanup,
// so that goroutines can call it.
func (tr *trial) finish(ctx context.Context, commit bool, msgs ...outbox.Message) error {
	tx, err := tr.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := tx.Enqueue(ctx, msgs...); err != nil {
		_ = tx.Rollback(context.WithoutCancel(ctx))
		return fmt.Errorf("enqueue: %w", err)
	}
	return end(ctx, tx, commit)
}

func end(ctx context.Context, tx Tx, commit bool) error {
	if !commit {
		if err := tx.Rollback(ctx); err != nil {
			return fmt.Errorf("rollback: %w", err)
		}
		return nil
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
