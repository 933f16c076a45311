package sinktest

import (
	"context"
	"errors"
	"fmt"

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

func nothingOnTheWay(ctx context.Context, tr *trial) error {
	st, ok := tr.Subject.(Staller)
	if !ok {
		return fmt.Errorf("%w: Staller", ErrLacks)
	}
	s, err := tr.connected(ctx)
	if err != nil {
		return err
	}
	release, err := st.Stall(ctx)
	if err != nil {
		return err
	}
	page := tr.records(tr.Topics()[0], 50, 7)
	if err := tr.getsStuck(ctx, s, page); err != nil {
		return err
	}
	if err := release(ctx); err != nil {
		return err
	}
	return tr.deliver(ctx, s, page)
}

// getsStuck sends records for a short time, in which those get stuck that do not find a connection
// made meanwhile.
func (tr *trial) getsStuck(ctx context.Context, s driver.Sink, records []outbox.Record) error {
	results, err := tr.send(ctx, s, short, records)
	if err != nil {
		return err
	}
	for i := range results {
		if results[i].Err != nil {
			continue
		}
		switch there, err := tr.hasArrived(ctx, records[i]); {
		case err != nil:
			return err
		case !there:
			return nobodyHas(i)
		}
	}
	return kindsAmong(results, outbox.FailureOutage)
}

// nothingComesLate sends a record that gets stuck on its way, and goes on behind it as a relay does
// that has given it up. If it arrives after all, then in its place.
func nothingComesLate(ctx context.Context, tr *trial) error {
	st, ok := tr.Subject.(Staller)
	if !ok {
		return fmt.Errorf("%w: Staller", ErrLacks)
	}
	s, err := tr.connected(ctx)
	if err != nil {
		return err
	}
	release, err := st.Stall(ctx)
	if err != nil {
		return err
	}
	page := tr.records(tr.Topics()[0], 4, 1)
	if err := tr.fails(ctx, s, page[:1]); err != nil {
		return err
	}
	tr.goOnWithout(&page[0])
	// On a connection of its own it goes through; on the stuck one it waits for the release.
	results, err := tr.send(ctx, s, patience/10, page[1:2])
	if err != nil {
		return err
	}
	if err := release(ctx); err != nil {
		return err
	}
	if err := errors.Join(tr.deliver(ctx, s, append(unsent(page[1:2], results), page[2:]...))); err != nil {
		return err
	}
	return tr.deliver(ctx, s, tr.records(tr.Topics()[0], 5, 5)) // what was released has come by then
}
