package heldqueue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// world is a queue in memory with the relay that uses it, and all that was ever sent.
type world struct {
	*memory

	last    int64
	held    map[driver.Key]bool // what the relay knows
	sent    []int64
	gone    map[int64]bool // skipped by the relay, or dropped
	revived map[int64]bool // was dead, and is held again
	turn    int            // of the fates of a move
}

func newWorld(spoil func(tx heldqueue.Tx) heldqueue.Tx) *world {
	w := &world{memory: newMemory(), held: map[driver.Key]bool{}, gone: map[int64]bool{}, revived: map[int64]bool{}}
	w.spoil = spoil
	return w
}

func recordOf(seq int64, key string) outbox.Record {
	r := outbox.Record{Seq: seq}
	r.ID, r.Topic, r.Key, r.Payload = strconv.FormatInt(seq, 10), "orders", key, []byte("payload")
	return r
}

// play plays moves, and tests after each that the invariant holds, that nothing was sent
// past a held record of its key, and that nothing is lost. In the end all that is left is
// delivered.
func (w *world) play(ctx context.Context, all []move) error {
	last := []move{{Do: "redrive_dead"}, {Do: "redrive", Key: "*"}, {Do: "pass"}}
	for i, m := range append(all, last...) {
		if err := errors.Join(w.make(ctx, &m), heldqueue.Check(w.rows.Rows()), w.complete()); err != nil {
			return fmt.Errorf("move %d, %+v: %w", i, m, err)
		}
	}
	for range int(w.last) + 1 {
		if err := w.due(ctx, &move{Fates: []driver.Fate{driver.FateDelivered}, Limit: 100}); err != nil {
			return err
		}
	}
	if n := len(w.rows.Rows()); n > 0 {
		return fmt.Errorf("%d records are held and never due", n)
	}
	return w.complete()
}

func (w *world) make(ctx context.Context, m *move) error {
	w.turn = 0
	switch m.Do {
	case "page":
		return w.page(ctx, m)
	case "due":
		return w.due(ctx, m)
	case "pass":
		w.ahead += pass
		return nil
	case "take_over":
		keys, err := w.keys(ctx)
		clear(w.held)
		for _, k := range keys {
			w.held[k] = true
		}
		return err
	default:
		return w.ask(ctx, m)
	}
}

// page sends new records, as a relay does: those of held keys wait.
func (w *world) page(ctx context.Context, m *move) error {
	var records []outbox.Record
	var h []driver.Holding
	for i, k := range m.Keys {
		w.last++
		r := recordOf(w.last, k)
		records = append(records, r)
		one := driver.Holding{Index: i, Fate: driver.FateWait, RetryIn: m.retryIn()}
		if key := keyOf(&r); !w.held[key] {
			one.Fate = m.fate(&w.turn)
			w.held[key] = k != "" && (one.Fate == driver.FateRetry || one.Fate == driver.FatePark)
		}
		if one.Fate == driver.FateDelivered {
			if err := w.send(&r, nil); err != nil {
				return err
			}
			continue
		}
		w.gone[r.Seq] = one.Fate == driver.FateSkip
		h = append(h, one)
	}
	return w.hold(ctx, records, h)
}

// due sends what is due. Nothing of a key follows a record that failed.
func (w *world) due(ctx context.Context, m *move) error {
	due, err := w.memory.due(ctx, m.Limit, nil)
	want := heldqueue.Want{Limit: m.Limit}
	if err := errors.Join(err, heldqueue.CheckDue(w.rows.Rows(), due, w.now(), want)); err != nil {
		return err
	}
	failed, left := map[driver.Key]bool{}, map[int64]bool{}
	var v []driver.Verdict
	for i := range due {
		r := &due[i].Record
		key := keyOf(r)
		if failed[key] {
			continue
		}
		fate := m.fate(&w.turn)
		failed[key] = r.Key != "" && (fate == driver.FateRetry || fate == driver.FatePark)
		if fate == driver.FateDelivered {
			if err := w.send(r, left); err != nil {
				return err
			}
		}
		left[r.Seq] = fate == driver.FateDelivered || fate == driver.FateDead || fate == driver.FateSkip
		w.gone[r.Seq] = fate == driver.FateSkip
		v = append(v, driver.Verdict{Record: r, Fate: fate, RetryIn: m.retryIn()})
	}
	free, err := w.resolve(ctx, v)
	for _, key := range free {
		delete(w.held, key)
	}
	return err
}

// send notes that r was sent. Records in left leave with the same answer.
func (w *world) send(r *outbox.Record, left map[int64]bool) error {
	if slices.Contains(w.sent, r.Seq) {
		return fmt.Errorf("record %d is sent twice", r.Seq)
	}
	w.sent = append(w.sent, r.Seq)
	if w.revived[r.Seq] || r.Key == "" {
		return nil
	}
	for _, row := range w.rows.Rows() {
		before := row.Key == keyOf(r) && row.Seq < r.Seq && row.State != heldqueue.Dead
		if before && !left[row.Seq] && !w.revived[row.Seq] {
			return fmt.Errorf("record %d is sent past %d of its key, %s", r.Seq, row.Seq, row.State)
		}
	}
	return nil
}

func keyOf(r *outbox.Record) driver.Key {
	return driver.Key{Topic: r.Topic, Key: r.Key}
}
