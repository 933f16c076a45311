package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

var errNoReplayer = errors.New("the subject is no Replayer; say Features.NoReplay")

// playback begins a replay of s at position, which is empty for a new one.
func (tr *trial) playback(ctx context.Context, s Selection, position string) (driver.Playback, error) {
	history, err := tr.history(s)
	if err != nil {
		return nil, err
	}
	p, err := history.Begin(ctx, driver.ReplayOrder{Position: position, Actor: "outboxtest", Reason: "a check"})
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	tr.cleanup(func() { _ = p.Close(context.WithoutCancel(ctx)) })
	return p, nil
}

func (tr *trial) history(s Selection) (driver.History, error) {
	r, ok := tr.Subject.(Replayer)
	if !ok {
		return nil, errNoReplayer
	}
	h, err := r.History(s)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return h, nil
}

// replayed returns all of s, in pages of limit. The records are copies.
func (tr *trial) replayed(ctx context.Context, s Selection, position string, limit int) ([]outbox.Record, error) {
	p, err := tr.playback(ctx, s, position)
	if err != nil {
		return nil, err
	}
	var all []outbox.Record
	for len(all) < mostRecords {
		page, err := p.Read(ctx, limit)
		switch {
		case err != nil:
			return all, fmt.Errorf("read of history: %w", err)
		case len(page) > limit:
			return all, fmt.Errorf("read of history: %d records in a page of at most %d", len(page), limit)
		case len(page) == 0:
			return all, p.Close(ctx)
		}
		all = append(all, cloned(page)...)
	}
	return all, errNoEnd
}

func cloned(page []outbox.Record) []outbox.Record {
	all := slices.Clone(page)
	for i := range all {
		all[i].Payload = slices.Clone(all[i].Payload)
	}
	return all
}

func sameRecords(got, want []outbox.Record) error {
	if len(got) != len(want) {
		return fmt.Errorf("replayed %d records, want %d: %s", len(got), len(want), describe(got))
	}
	for i := range want {
		if err := sameRecord(&want[i], &got[i]); err != nil {
			return fmt.Errorf("record %q: sent and replayed: %w", want[i].ID, err)
		}
	}
	return nil
}
