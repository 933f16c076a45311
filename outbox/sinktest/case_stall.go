package sinktest

import (
	"context"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func stallChecks() []Check {
	out := []Check{
		{Name: "O2_NothingIsAcknowledgedOnTheWay", run: nothingOnTheWay},
		{Name: "O5_NothingComesLate", run: nothingComesLate},
	}
	for i := range out {
		out[i].skip = func(f Features) bool { return f.NoStall }
	}
	return out
}

func nothingOnTheWay(ctx context.Context, tr *trial) {
	st, ok := tr.Subject.(Staller)
	if !ok {
		fail.With("%w: Staller", errLacks)
	}
	s := tr.connected(ctx)
	release, err := st.Stall(ctx)
	fail.If(err)
	page := tr.records(tr.Topics()[0], 50, 7)
	tr.getsStuck(ctx, s, page)
	fail.If(release(ctx))
	tr.deliver(ctx, s, page)
}

// getsStuck sends records for a short time. Those that do not use a new connection get stuck.
func (tr *trial) getsStuck(ctx context.Context, s driver.Sink, records []outbox.Record) {
	results := tr.send(ctx, s, short, records)
	for i := range results {
		if results[i].Err != nil {
			continue
		}
		there, err := tr.hasArrived(ctx, records[i])
		fail.If(err)
		if !there {
			fail.Now(nobodyHas(i))
		}
	}
	expectKinds(results, outbox.FailureOutage)
}

// nothingComesLate sends a record that gets stuck on its way, and goes on with later ones, like a
// relay that has given up on it. If it still arrives, it must be in its place.
func nothingComesLate(ctx context.Context, tr *trial) {
	st, ok := tr.Subject.(Staller)
	if !ok {
		fail.With("%w: Staller", errLacks)
	}
	s := tr.connected(ctx)
	release, err := st.Stall(ctx)
	fail.If(err)
	page := tr.records(tr.Topics()[0], 4, 1)
	tr.fails(ctx, s, page[:1])
	tr.goOnWithout(&page[0])
	// On its own connection it arrives; on the stuck one it waits for the release.
	results := tr.send(ctx, s, patience/10, page[1:2])
	fail.If(release(ctx))
	tr.deliver(ctx, s, append(unsent(page[1:2], results), page[2:]...))
	tr.deliver(ctx, s, tr.records(tr.Topics()[0], 5, 5)) // what was released has arrived by then
}
