package pgoutbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/internal/pgheld"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var _ driver.Holder = (*session)(nil)

// shardFilter says which shards are this session's: those that are slot modulo
// slots.
func (n *session) shardFilter() (slots, slot int) {
	return n.slots, int(n.lease.Slot.No)
}

func (n *session) share() pgheld.Share {
	slots, slot := n.shardFilter()
	return pgheld.Share{Slots: int16(slots), Slot: int16(slot)} //nolint:gosec // at most 64
}

// HeldKeys implements driver.Holder.
func (n *session) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	n.reading.Lock()
	defer n.reading.Unlock()
	keys, err := n.source.ob.held.Keys(ctx, n.reader, n.lease.Slot.Group, n.share())
	return relayKeys(keys), unusable(describe(err))
}

// CountHeld implements driver.Holder.
func (n *session) CountHeld(ctx context.Context) (int, error) {
	n.reading.Lock()
	defer n.reading.Unlock()
	count, err := n.source.ob.held.Count(ctx, n.reader, n.lease.Slot.Group, n.share())
	return count, unusable(describe(err))
}

// Hold implements driver.Holder. What is settled is noted only once it is stored:
// a position that was stored without its records would lose them.
func (n *session) Hold(ctx context.Context, p driver.Page, settled int, h []driver.Holding) error {
	at, last, err := endOf(p, settled)
	if err != nil {
		return err
	}
	holdings := make([]pgheld.Holding, len(h))
	for i := range h {
		if h[i].Index < 0 || h[i].Index >= settled || h[i].Fate == driver.FateDelivered {
			return fmt.Errorf("leat: cannot hold record %d of %d that are settled, with fate %s", h[i].Index, settled, h[i].Fate)
		}
		row, err := heldRow(&p.Records[h[i].Index])
		if err != nil {
			return err
		}
		holdings[i] = pgheld.Holding{Row: row, Fate: n.fate(h[i].Fate, h[i].Attempts, h[i].Reason)}
		holdings[i].RetryIn = h[i].RetryIn
	}
	return n.hold(ctx, at, last, holdings)
}

func (n *session) hold(ctx context.Context, at cursor, last int64, h []pgheld.Holding) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	if n.isSettled(at, last) {
		return nil
	}
	err := n.source.ob.held.Hold(ctx, n.writer, n.lease, pgheld.Position{Window: at.window, Last: last}, h)
	if err != nil {
		return unusable(describe(err))
	}
	n.settle(at, last)
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.window == n.window.No {
		n.stored = max(n.stored, last)
	}
	return nil
}

// isSettled says whether rows up to last are settled already.
func (n *session) isSettled(at cursor, last int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return at.window != n.window.No || last <= n.done
}

// Due implements driver.Holder.
func (n *session) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	if limit < 1 {
		return nil, outbox.ConfigError("limit", limit, "must be positive")
	}
	n.reading.Lock()
	defer n.reading.Unlock()
	rows, err := n.source.ob.held.Due(ctx, n.reader, n.lease.Slot.Group, n.share(), limit, except)
	if err != nil {
		return nil, unusable(describe(err))
	}
	due := make([]driver.Held, len(rows))
	for i := range rows {
		due[i] = driver.Held{Record: recordOf(&rows[i].Row), Attempts: rows[i].Attempts}
	}
	return due, nil
}

// Resolve implements driver.Holder.
func (n *session) Resolve(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
	if len(v) == 0 {
		return nil, nil
	}
	verdicts := make([]pgheld.Verdict, len(v))
	for i := range v {
		if v[i].Record == nil || v[i].Fate == driver.FateWait {
			return nil, errVerdict
		}
		verdicts[i] = pgheld.Verdict{
			Seq: v[i].Record.Seq, Topic: v[i].Record.Topic, Key: textOrNull(&v[i].Record.Key),
			Fate: n.fate(v[i].Fate, v[i].Attempts, v[i].Reason),
		}
		verdicts[i].RetryIn = v[i].RetryIn
	}
	n.writing.Lock()
	defer n.writing.Unlock()
	free, err := n.source.ob.held.Resolve(ctx, n.writer, n.lease, verdicts)
	return relayKeys(free), unusable(describe(err))
}

var errVerdict = errors.New("leat: a verdict needs a record, and another fate than wait")

// fate translates what becomes of a record.
func (n *session) fate(f driver.Fate, attempts []driver.Attempt, reason string) pgheld.Fate {
	fate := pgheld.Fate{Name: f.String(), Reason: reason}
	for _, a := range attempts {
		fate.Attempts = append(fate.Attempts, pgheld.Error{At: a.At, Kind: a.Kind.String(), Error: a.Error, Epoch: n.lease.Epoch})
	}
	return fate
}

func relayKeys(keys []pgheld.Key) []driver.Key {
	all := make([]driver.Key, len(keys))
	for i, k := range keys {
		all[i] = driver.Key(k)
	}
	return all
}
