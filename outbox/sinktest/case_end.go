package sinktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox"
)

func endChecks() []Check {
	return []Check{
		{Name: "NoRecords", run: noRecords},
		{Name: "O13_ContextThatHasEnded", run: endedContext},
		{Name: "O13_SendAfterClose", run: sendAfterClose, skip: func(f Features) bool { return f.NoClose }},
	}
}

func noRecords(ctx context.Context, tr *trial) error {
	s, err := tr.sink()
	if err != nil {
		return err
	}
	for range 2 {
		if results := s.Send(ctx, nil); len(results) != 0 {
			return fmt.Errorf("%d results for no records", len(results))
		}
	}
	return nil
}

// endedContext calls Send when there is no time left. Nothing may be sent then, and later all.
func endedContext(ctx context.Context, tr *trial) error {
	s, err := tr.connected(ctx)
	if err != nil {
		return err
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	page := tr.records(tr.Topics()[0], 9, 3)
	results, err := tr.send(ended, s, patience, page)
	if err != nil {
		return err
	}
	if err := kindsAmong(results, outbox.FailureOutage); err != nil {
		return err
	}
	if err := tr.once(ctx, 10); err != nil {
		return fmt.Errorf("after a call without time: %w", err)
	}
	return tr.deliver(ctx, s, page)
}

func sendAfterClose(ctx context.Context, tr *trial) error {
	s, err := tr.connected(ctx)
	if err != nil {
		return err
	}
	c, ok := s.(interface{ Close() error })
	if !ok {
		return fmt.Errorf("%w: the sink has no method Close", ErrLacks)
	}
	if err := errors.Join(closeSoon(c), closeSoon(c)); err != nil {
		return fmt.Errorf("close twice: %w", err)
	}
	page := tr.records(tr.Topics()[0], 9, 3)
	results, err := tr.send(ctx, s, patience, page)
	if err != nil {
		return err
	}
	if err := kindsAmong(results, outbox.FailureOutage); err != nil {
		return err
	}
	return tr.once(ctx, 10)
}
