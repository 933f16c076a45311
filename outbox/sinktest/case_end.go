package sinktest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

func endChecks() []Check {
	return []Check{
		{Name: "NoRecords", run: noRecords},
		{Name: "O13_ContextThatHasEnded", run: endedContext},
		{Name: "O13_SendAfterClose", run: sendAfterClose, skip: func(f Features) bool { return f.NoClose }},
	}
}

func noRecords(ctx context.Context, tr *trial) {
	s := tr.sink()
	for range 2 {
		if results := s.Send(ctx, nil); len(results) != 0 {
			fail.With("%d results for no records", len(results))
		}
	}
}

// endedContext calls Send when there is no time left. Nothing may be sent then, and everything
// later.
func endedContext(ctx context.Context, tr *trial) {
	s := tr.connected(ctx)
	ended, cancel := context.WithCancel(ctx)
	cancel()
	page := tr.records(tr.Topics()[0], 9, 3)
	results := tr.send(ended, s, patience, page)
	expectKinds(results, outbox.FailureOutage)
	fail.In("after a call without time", func() { tr.once(ctx, 10) })
	tr.deliver(ctx, s, page)
}

func sendAfterClose(ctx context.Context, tr *trial) {
	s := tr.connected(ctx)
	c, ok := s.(interface{ Close() error })
	if !ok {
		fail.With("%w: the sink has no method Close", errLacks)
	}
	fail.If(errors.Join(closeSoon(c), closeSoon(c)), "close twice")
	page := tr.records(tr.Topics()[0], 9, 3)
	results := tr.send(ctx, s, patience, page)
	expectKinds(results, outbox.FailureOutage)
	tr.once(ctx, 10)
}
