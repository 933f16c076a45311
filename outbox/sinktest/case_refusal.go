package sinktest

import (
	"context"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func refusalChecks() []Check {
	out := []Check{
		{Name: "O5_RefusalStopsItsKey", run: refusalStopsItsKey},
		{Name: "O5_RefusalStopsALongRun", run: refusalStopsALongRun},
		{Name: "O7_RefusalOfRecordWithoutKey", run: refusalWithoutKey},
	}
	for i := range out {
		out[i].skip = func(f Features) bool { return f.NoRefusal }
	}
	return out
}

// refused sends page, whose record bad the destination refuses, as a relay does, until the
// culprit is found: records that were not acknowledged are sent again. It returns the remaining
// records.
func (tr *trial) refused(ctx context.Context, page []outbox.Record, bad int) (left []outbox.Record, s driver.Sink, accept func(context.Context) error) {
	r, ok := tr.Subject.(Refuser)
	if !ok {
		fail.With("%w: Refuser", errLacks)
	}
	s = tr.sink()
	at := page[bad]
	accept, err := r.Refuse(ctx, at.Topic, at.ID)
	fail.If(err, "refuse a record")
	left = page
	for range page {
		results := tr.send(ctx, s, patience, left)
		expectKinds(results, outbox.FailureUnknown, outbox.FailurePermanent)
		found := refusal(left, results, at.ID)
		tr.noneBehind(ctx, &at)
		if left = unsent(left, results); found && onlyKey(left, &at) {
			return left, s, accept
		}
	}
	fail.With("after %d calls %d records are still held back by one that is refused", len(page), len(left))
	return nil, nil, nil
}

// refusal reports whether the refused record itself has failed. No other record may be called
// permanent.
func refusal(records []outbox.Record, results []outbox.Result, id string) (found bool) {
	for i := range results {
		kind := outbox.KindOf(results[i].Err)
		switch {
		case records[i].ID != id && results[i].Err != nil && kind == outbox.FailurePermanent:
			fail.With("%w: %q was not refused, and failed for good: %w", errKind, records[i].ID, results[i].Err)
		case records[i].ID != id:
		case results[i].Err == nil:
			fail.With("%w: %q was refused by the destination and acknowledged by the sink", errLost, id)
		case kind != outbox.FailureNotSent:
			found = true
		}
	}
	return found
}

// noneBehind fails if a record after r in its key has arrived.
func (tr *trial) noneBehind(ctx context.Context, r *outbox.Record) {
	all, err := tr.arrived(ctx)
	fail.If(err)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	for i := range all {
		o := tr.byName[nameOf(&all[i])]
		if o != nil && r.Key != "" && o.record.Topic == r.Topic && o.record.Key == r.Key && o.record.Seq > r.Seq {
			fail.With("%w: %q has arrived, %q before it was refused", errInverted, o.record.ID, r.ID)
		}
	}
}

// onlyKey reports whether all of records are of r's key, or r itself if it has none.
func onlyKey(records []outbox.Record, r *outbox.Record) bool {
	if r.Key == "" && len(records) > 1 {
		return false
	}
	for i := range records {
		if records[i].Topic != r.Topic || records[i].Key != r.Key {
			return false
		}
	}
	return true
}

func refusalStopsItsKey(ctx context.Context, tr *trial) { tr.refuseAmid(ctx, 60, 6, 25) }

func refusalStopsALongRun(ctx context.Context, tr *trial) {
	tr.refuseAmid(ctx, 120, 2, 11)
}

// refuseAmid refuses record bad of n until all other keys are delivered, and then delivers the
// rest.
func (tr *trial) refuseAmid(ctx context.Context, n, keys, bad int) {
	left, s, accept := tr.refused(ctx, tr.records(tr.Topics()[0], n, keys), bad)
	fail.If(accept(ctx), "accept the record again")
	tr.deliver(ctx, s, left)
}

// refusalWithoutKey refuses one of several records without a key, which must not affect the
// others.
func refusalWithoutKey(ctx context.Context, tr *trial) {
	page := tr.records(tr.Topics()[0], 12, 3)
	for i := range page {
		if i%2 == 0 {
			page[i].Key = ""
		}
	}
	left, s, accept := tr.refused(ctx, page, 4)
	fail.If(accept(ctx), "accept the record again")
	tr.deliver(ctx, s, left)
}
