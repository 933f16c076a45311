package memoutbox

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// brokenWriters are the ways of storing a message that change or lose it, or
// its order.
func brokenWriters() []negative {
	return []negative{
		{"keys are not held", unheldKeys, map[string]string{
			"O5_KeyIsHeldUntilTheEnd": "first occurrence of Seq 1",
			"O5_WaitingWriterGoesOn":  "did not wait",
		}},
		{"numbers are drawn before keys are locked", earlyNumbers, map[string]string{
			"O5_NumberIsDrawnUnderTheLock": "a transaction that waited for the key",
		}},
		{"a transaction outlives an Enqueue that has failed", forgivingTransactions, map[string]string{
			"O1_FailedEnqueueIsNotCommitted": "was committed",
		}},
		{"keys are locked in the order given", unsortedLocks, map[string]string{
			"O5_KeysDoNotDeadlock": "deadline exceeded",
		}},
		{"messages are stored one by one", oneByOne, map[string]string{
			"O1_AllOrNothing":      "read [",
			"O1_BadInputIsRefused": "read [1:good",
		}},
		{"ids are stored as UUIDs", uuidOnly, map[string]string{
			"O4_EveryCopyIsIdentical":            "field ID:",
			"Relay_O4_BrokerGetsWhatWasEnqueued": "field ID:",
		}},
		{"payloads end at NUL", endAtNUL, map[string]string{
			"O4_EveryCopyIsIdentical": "field Payload:",
		}},
		{"a copy gets a new id", newIDs, map[string]string{
			"O4_EveryCopyIsIdentical": "field ID:",
		}},
		{"the caller's slices are kept", aliased, map[string]string{
			"O4_CallerMayReuseItsSlices": "field Payload:",
		}},
		{"the transaction is not the context's", ownTransaction, map[string]string{
			"O1_RowExistsIffCommitted": "tx1-1",
		}},
		{"a transaction never ends", endless, map[string]string{
			"O1_EndedTransactionIsRefused": "no error, want leat: not in a transaction",
		}},
		{"whoever has no transaction gets one", ownTransactionFromContext, map[string]string{
			"O1_TransactionFromContext": "enqueue without a transaction: no error",
		}},
		{"nothing cannot be enqueued", refusesNone, map[string]string{
			"O1_NoMessageIsNoOp": "enqueue: there is nothing",
		}},
		{"all messages have one id", oneID, map[string]string{
			"O4_DefaultIDs": "is not a canonical UUIDv7",
		}},
	}
}

func endless(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); !errors.Is(err, outbox.ErrNotInTransaction) {
			return err
		}
		return nil
	}
}

func ownTransactionFromContext(c *control) {
	c.context = func(ctx context.Context, msgs []outbox.Message) error {
		return c.InTx(ctx, func(ctx context.Context, tx *Tx) error { return c.Enqueue(ctx, tx, msgs...) })
	}
}

var errNothing = errors.New("there is nothing")

func refusesNone(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if len(msgs) == 0 {
			return errNothing
		}
		return c.Enqueue(ctx, tx, msgs...)
	}
}

func oneID(c *control) {
	changed(c, func(m *outbox.Message) {
		if m.ID == "" {
			m.ID = "id"
		}
	})
}

func earlyNumbers(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		ready, err := c.preparer.Prepare(ctx, msgs)
		if err != nil {
			return err
		}
		return errors.Join(tx.insert(ready), tx.lockKeys(ctx, ready))
	}
}

func forgivingTransactions(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		err := c.Enqueue(ctx, tx, msgs...)
		c.mu.Lock()
		defer c.mu.Unlock()
		tx.aborted = false
		return err
	}
}

func unheldKeys(c *control) {
	c.cfg.UnorderedKeys = true
}

func unsortedLocks(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		for i := range msgs {
			if err := tx.lockKey(ctx, msgs[i].Key); err != nil {
				return err
			}
			select { // let another writer take its first lock
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
			}
		}
		return c.Enqueue(ctx, tx, msgs...)
	}
}

func oneByOne(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		for i := range msgs {
			err := c.Enqueue(ctx, tx, msgs[i])
			if bad, ok := errors.AsType[*outbox.InvalidMessageError](err); ok {
				bad.Index = i
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// changed enqueues messages that change has spoilt.
func changed(c *control, change func(m *outbox.Message)) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		spoilt := make([]outbox.Message, len(msgs))
		for i := range msgs {
			spoilt[i] = msgs[i]
			change(&spoilt[i])
		}
		return c.Enqueue(ctx, tx, spoilt...)
	}
}

func uuidOnly(c *control) {
	changed(c, func(m *outbox.Message) {
		id, _ := ids.Map(m.ID)
		m.ID = ids.Text(id)
	})
}

func endAtNUL(c *control) {
	changed(c, func(m *outbox.Message) {
		m.Payload, _, _ = bytes.Cut(m.Payload, []byte{0})
	})
}

// newIDs hands out a new id with every read, as a relay does whose table has
// none.
func newIDs(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			p, err := s.Read(ctx, limit)
			for i := range p.Records {
				if id, nerr := ids.New(); nerr == nil {
					p.Records[i].ID = id
				}
			}
			return p, err
		}}
	}
}

func aliased(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for i := range msgs {
			tx.rows[len(tx.rows)-len(msgs)+i].Payload = msgs[i].Payload
		}
		return nil
	}
}

// ownTransaction writes beside the caller's transaction, as a publisher on a
// pool does.
func ownTransaction(c *control) {
	c.enqueue = func(ctx context.Context, _ *Tx, msgs []outbox.Message) error {
		return c.InTx(ctx, func(ctx context.Context, tx *Tx) error { return c.Enqueue(ctx, tx, msgs...) })
	}
}
