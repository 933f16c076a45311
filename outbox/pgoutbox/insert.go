package pgoutbox

import (
	"slices"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/outbox"
)

// Bounds of one INSERT. PostgreSQL accepts at most 1 GiB per message; the number of parameters
// does not grow with the rows, since each column is one array.
const (
	maxChunkRows  = 10_000
	maxChunkBytes = 32 << 20
)

// statement returns the INSERT of msgs, which fit one, and its parameters.
func (o *Outbox) statement(msgs []outbox.Message, locks []int64, shared int64, instance *string) (string, []any, error) {
	c, err := columnsOf(msgs)
	if err != nil {
		return "", nil, err
	}
	if c.due != nil {
		return o.sql.enqueueDelayed, c.args(locks, shared, instance), nil
	}
	// insertOne takes no lock, or two: the outbox's, shared, and one key's. A single lock is the outbox's, exclusive.
	if len(msgs) == 1 && len(locks) != 1 {
		sql, args := o.sql.insertOne(c, locks, instance)
		return sql, args, nil
	}
	return o.sql.enqueue, c.args(locks, shared, instance), nil
}

// wholeStatement is statement for an INSERT that fails unless it stores all msgs: the result
// cannot be checked before the commit.
func (o *Outbox) wholeStatement(msgs []outbox.Message, locks []int64, shared int64) (string, []any, error) {
	sql, args, err := o.statement(msgs, locks, shared, nil)
	return o.sql.whole[sql], append(args, len(msgs)), err
}

// insertOne returns the INSERT of the only row of c, and its parameters.
func (s *statements) insertOne(c *columns, locks []int64, instance *string) (string, []any) {
	args := make([]any, 0, 11)
	args = append(args, locks, c.shards[0], c.ids[0], textOrNull(&c.idTexts[0]), c.topics[0], textOrNull(&c.keys[0]),
		textOrNull(&c.types[0]), c.payloads[0], textOrNull(&c.headers[0]))
	if c.occurred != nil {
		args = append(args, *c.occurred[0])
	} else {
		args = append(args, nil)
	}
	if instance == nil {
		return s.enqueueOne, args
	}
	return s.enqueueOneChecked, append(args, *instance)
}

// unchecked returns an INSERT that compares the instance, and its parameters, without the comparison.
func (s *statements) unchecked(sql string, args []any) (string, []any) {
	if sql == s.enqueueOneChecked {
		return s.enqueueOne, args[:len(args)-1]
	}
	const instance = 2        // $3 of enqueue.sql and enqueue_delayed.sql
	args = slices.Clone(args) // statements of a batch are sent again if InBatch is called again
	args[instance] = nil
	return sql, args
}

// locks returns the locks of a call with msgs, in the order in which they must be taken, and
// which of them is shared: the outbox as a whole, shared, then each key; or, past MaxKeyLocks,
// the outbox as a whole, exclusively. A key shares its lock with the same key of every other
// topic.
func (o *Outbox) locks(msgs []outbox.Message) (locks []int64, shared int64) {
	if o.cfg.UnorderedKeys {
		return []int64{}, 0
	}
	keys := make([]int64, 0, min(len(msgs), o.cfg.MaxKeyLocks)+1)
	for i := range msgs {
		if msgs[i].Key != "" {
			keys = append(keys, keyhash.Lock("outbox", o.table, msgs[i].Key))
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	switch {
	case len(keys) == 0:
		return keys, 0
	case len(keys) > o.cfg.MaxKeyLocks:
		return []int64{o.wholeBox}, 0
	default:
		return slices.Insert(keys, 0, o.wholeBox), o.wholeBox
	}
}

// chunks splits msgs so that each part fits one statement.
func chunks(msgs []outbox.Message) [][]outbox.Message {
	var parts [][]outbox.Message
	start, size := 0, 0
	for i := range msgs {
		if i > start && (i-start >= maxChunkRows || size+len(msgs[i].Payload) > maxChunkBytes) {
			parts = append(parts, msgs[start:i])
			start, size = i, 0
		}
		size += len(msgs[i].Payload)
	}
	return append(parts, msgs[start:])
}
