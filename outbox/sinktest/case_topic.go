package sinktest

import (
	"context"
	"errors"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

func topicChecks() []Check {
	return []Check{
		{Name: "O7_O8_MissingTopicIsAnOutage", run: missingTopic, skip: func(f Features) bool { return f.NoMissing }},
		{Name: "O7_TooLargeIsPermanent", run: tooLarge, skip: func(f Features) bool { return f.NoLimit }},
	}
}

// missingTopic sends records for a topic that does not exist among records of one that does, which must not
// fail. It sends them again once the topic exists.
func missingTopic(ctx context.Context, tr *trial) {
	m, ok := tr.Subject.(Misser)
	if !ok {
		fail.With("%w: Misser", errLacks)
	}
	s := tr.sink()
	page := tr.records(tr.Topics()[0], 30, 6)
	for i := range page {
		if i%6 < 2 {
			page[i].Topic = m.Missing()
		}
	}
	// The first call may stop where it has learned that the topic does not exist.
	left := page
	for range 3 {
		results := tr.send(ctx, s, patience, left)
		expectKinds(results, outbox.FailureOutage)
		for i := range results {
			if left[i].Topic == m.Missing() && results[i].Err == nil {
				fail.With("%w: record %d has no topic to arrive at", errLost, i)
			}
			if kind := outbox.KindOf(results[i].Err); results[i].Err != nil && kind == outbox.FailureOutage &&
				left[i].Topic == m.Missing() && !errors.Is(results[i].Err, outbox.ErrTopicUnavailable) {
				fail.With("%w: an answer that there is no such topic wraps outbox.ErrTopicUnavailable: %w", errKind, results[i].Err)
			}
		}
		left = unsent(left, results)
	}
	if len(left) != 10 {
		fail.With("%d records are left, want the 10 of the missing topic", len(left))
	}
	fail.If(m.Provide(ctx), "provide the topic")
	tr.deliver(ctx, s, left)
}

// tooLarge sends a record that can never be sent, among others. Only that record fails for good,
// and its key waits.
func tooLarge(ctx context.Context, tr *trial) {
	l, ok := tr.Subject.(Limiter)
	if !ok {
		fail.With("%w: Limiter", errLacks)
	}
	s := tr.sink()
	page := tr.records(tr.Topics()[0], 40, 4)
	page[17].Payload = make([]byte, l.TooLarge())
	left, found := page, false
	for range 5 {
		results := tr.send(ctx, s, patience, left)
		for i := range results {
			bad := left[i].ID == page[17].ID
			permanent := results[i].Err != nil && outbox.KindOf(results[i].Err) == outbox.FailurePermanent
			if permanent && !bad {
				fail.With("%w: record %d is not too large: %w", errKind, i, results[i].Err)
			}
			found = found || permanent
		}
		tr.noneBehind(ctx, &page[17])
		if left = unsent(left, results); found && onlyKey(left, &page[17]) {
			tr.goOnWithout(&page[17])
			tr.deliver(ctx, s, left[1:])
			return
		}
	}
	fail.With("%w: a record that is too large was not called permanent; %d records are left", errKind, len(left))
}
