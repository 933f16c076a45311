package sinktest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

var (
	errLost     = errors.New("leat: a record that was acknowledged has not arrived")
	errInverted = errors.New("leat: records of a key have arrived in another order than they were sent")
	errInvented = errors.New("leat: what has arrived was never sent")
	errAltered  = errors.New("leat: a record has not arrived as it was sent")
)

// look compares what has arrived with what was offered: everything that was acknowledged has
// arrived, unchanged, and first copies are in the order of their keys without a gap.
func (tr *trial) look(ctx context.Context) {
	arrived, err := tr.arrived(ctx)
	fail.If(err)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	seen := make(map[name]bool)
	for i := range arrived {
		got := &arrived[i]
		o, ok := tr.byName[nameOf(got)]
		if !ok {
			fail.With("%w: id %.80q on topic %.80q, payload %.80q", errInvented, got.ID, got.Topic, got.Payload)
		}
		if err := same(&o.record.Message, got, tr.features); err != nil {
			fail.With("%w: %q: %w", errAltered, got.ID, err)
		}
		if other := missing(o, seen); other != "" {
			fail.With("%w: %q and %s", errInverted, got.ID, other)
		}
		seen[nameOf(got)] = true
	}
	for _, o := range tr.offered {
		if o.acked && !seen[nameOf(&o.record.Message)] {
			fail.With("%w: %q of key %.80q, of %d records %d have arrived",
				errLost, o.record.ID, o.record.Key, len(tr.offered), len(seen))
		}
	}
}

// missing returns the record that should have arrived before o, or "": the one before it in its
// key. A skipped record may not arrive after a later one.
func missing(o *offer, seen map[name]bool) string {
	if o.record.Key == "" || seen[nameOf(&o.record.Message)] {
		return ""
	}
	before := o.before
	for before != nil && before.skipped {
		before = before.before
	}
	if before != nil && !seen[nameOf(&before.record.Message)] {
		return before.record.ID
	}
	if !o.skipped {
		return ""
	}
	for later := o.behind; later != nil; later = later.behind {
		if seen[nameOf(&later.record.Message)] {
			return later.record.ID + ", which was sent after it had failed"
		}
	}
	return ""
}

// arrived returns what has arrived, by topic.
func (tr *trial) arrived(ctx context.Context) ([]outbox.Message, error) {
	topics := tr.Topics()
	names := topics[:]
	if m, ok := tr.Subject.(Misser); ok && !tr.features.NoMissing && tr.has(m.Missing()) {
		names = append(names, m.Missing())
	}
	var all []outbox.Message
	for _, topic := range names {
		got, err := tr.Arrived(ctx, topic)
		if err != nil {
			return nil, fmt.Errorf("look what has arrived for %q: %w", topic, err)
		}
		all = append(all, got...)
	}
	return all, nil
}

// has reports whether a record of topic was acknowledged.
func (tr *trial) has(topic string) bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for _, o := range tr.offered {
		if o.acked && o.record.Topic == topic {
			return true
		}
	}
	return false
}

// hasArrived reports whether one of the records has arrived.
func (tr *trial) hasArrived(ctx context.Context, records ...outbox.Record) (bool, error) {
	all, err := tr.arrived(ctx)
	for i := range all {
		if slices.ContainsFunc(records, func(r outbox.Record) bool { return r.ID == all[i].ID }) {
			return true, err
		}
	}
	return false, err
}
