package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
)

// WatermarkSubject is a store of positions under test: empty when a check gets it, and used
// by that check alone.
type WatermarkSubject interface {
	// Open returns an inbox of positions that reads the topics.
	Open(consumer string, topics ...string) (PositionProcessor, error)

	// Watermarks returns the operators' interface to all inboxes. It is an admin.Auditor as well,
	// unless Features.NoAudit is set.
	Watermarks() (admin.Watermarks, error)
}

// WatermarkCheck is one case of RunWatermarks.
type WatermarkCheck struct {
	// Name is the name of the check.
	Name string

	run  func(ctx context.Context, p positions) // fails by package fail
	skip func(f Features) bool                  // nil: the check is never skipped
}

// Run runs the check on s, which no other check may have used, and returns what is wrong
// with it. It is bounded by ctx and by a minute.
func (c WatermarkCheck) Run(ctx context.Context, s WatermarkSubject) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	p, err1 := s.Open(consumer, logTopic, otherTopic)
	marks, err2 := s.Watermarks()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if err := fail.Caught(func() { c.run(ctx, positions{PositionProcessor: p, in: marks}) }); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// RunWatermarks runs the checks of operators' views and changes of positions that f does not rule
// out, in parallel, each on a new subject. It logs a table of what is checked, as Claims does.
func RunWatermarks(t *testing.T, f Features, newSubject func(t *testing.T) WatermarkSubject) {
	t.Helper()
	runClaims(t, func(t *testing.T) (string, error) {
		t.Helper()
		return watermarkClaims(t.Context(), f, newSubject(t))
	})
	for _, c := range WatermarkChecks(f) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// WatermarkChecks returns the checks that RunWatermarks runs.
func WatermarkChecks(f Features) []WatermarkCheck {
	all := []WatermarkCheck{
		{Name: "Watermarks_LookingRegistersNobody", run: checkWatermarksOfNobody},
		{Name: "Watermarks_SetAndRemove", run: checkWatermarkSet},
		{Name: "Watermarks_AcceptSource", run: checkSourceAccepted},
		{Name: "Watermarks_DryRunChangesNothing", run: checkWatermarkDryRun},
		{Name: "Watermarks_ChangesAreAudited", run: checkWatermarkAudit, skip: noAudit},
		{Name: "Watermarks_RequestsAreChecked", run: checkWatermarkRequests},
	}
	return slices.DeleteFunc(all, func(c WatermarkCheck) bool { return c.skip != nil && c.skip(f) })
}

func checkWatermarksOfNobody(ctx context.Context, p positions) {
	_, listErr := p.in.Partitions(ctx, admin.PartitionsQuery{Consumer: consumer})
	_, setErr := p.set(ctx, 1, false)
	_, removeErr := p.remove(ctx, false)
	_, acceptErr := p.accept(ctx, logSource, false)
	_, stillErr := p.in.Partitions(ctx, admin.PartitionsQuery{Consumer: consumer})
	fail.IfAny(
		wantError("partitions of nobody", listErr, admin.ErrUnknownConsumer), wantError("set for nobody", setErr, admin.ErrUnknownConsumer),
		wantError("remove for nobody", removeErr, admin.ErrUnknownConsumer), wantError("accept for nobody", acceptErr, admin.ErrUnknownConsumer),
		wantError("partitions of nobody, again", stillErr, admin.ErrUnknownConsumer),
	)
}

func checkWatermarkSet(ctx context.Context, p positions) {
	var setErr, removeErr error
	at := driver.Position{Source: logSource, Topic: logTopic, Offset: 3, Prev: 2, Serial: true}
	msg := message.NewMessageWithContext(driver.WithPosition(ctx, at), "a", nil)
	err := p.wantNext(ctx, logSource, 3)
	outcome, processErr := p.Process(msg.Context(), msg, func(ctx context.Context) error {
		_, setErr = p.set(ctx, 1, false)
		_, removeErr = p.remove(ctx, false)
		return nil
	})
	if outcome != inbox.OutcomeCommitted {
		err = errors.Join(err, fmt.Errorf("outcome %s", outcome))
	}
	err = errors.Join(err, processErr, wantError("set while a handler runs", setErr, driver.ErrBusy),
		wantError("remove while a handler runs", removeErr, driver.ErrBusy))
	was, setErr := p.set(ctx, 7, false)
	err = errors.Join(err, wantValue(was, setErr, 4), p.wantNext(ctx, logSource, 7))
	was, setErr = p.set(ctx, 2, false)
	err = errors.Join(err, wantValue(was, setErr, 7), p.wantNext(ctx, logSource, 2),
		p.wantPartitions(ctx, admin.PartitionState{TopicPartition: theLog(), Next: 2, Current: true}))
	was, removeErr = p.remove(ctx, false)
	err = errors.Join(err, wantValue(was, removeErr, 2), p.wantPartitions(ctx))
	_, removeErr = p.remove(ctx, false)
	err = errors.Join(err, wantError("remove of nothing", removeErr, admin.ErrInvalidRequest))
	was, setErr = p.set(ctx, 5, false) // before the first session
	fail.IfAny(err, wantValue(was, setErr, -1), p.wantNext(ctx, logSource, 5))
}

func checkSourceAccepted(ctx context.Context, p positions) {
	err := p.wantNext(ctx, logSource, 3)
	_, changedErr := p.assign(ctx, newSource)
	err = errors.Join(err, wantError("a topic that was made again", changedErr, driver.ErrSourceChanged))
	was, acceptErr := p.accept(ctx, newSource, false)
	err = errors.Join(err, wantValue(was, acceptErr, logSource), p.wantNext(ctx, newSource, 0))
	was, acceptErr = p.accept(ctx, logSource, false)
	fail.IfAny(err, wantValue(was, acceptErr, newSource), p.wantNext(ctx, logSource, 3)) // it comes back
}

func checkWatermarkDryRun(ctx context.Context, p positions) {
	err := p.wantNext(ctx, logSource, 3)
	wasSet, setErr := p.set(ctx, 7, true)
	wasRemoved, removeErr := p.remove(ctx, true)
	wasAccepted, acceptErr := p.accept(ctx, newSource, true)
	_, otherErr := p.in.RemoveWatermark(ctx, admin.RemoveWatermarkRequest{
		By: someone(), Consumer: consumer, DryRun: true, TopicPartition: admin.TopicPartition{Topic: logTopic, Source: logSource, Partition: 5},
	})
	fail.IfAny(err, wantValue(wasSet, setErr, 3), wantValue(wasRemoved, removeErr, 3), wantValue(wasAccepted, acceptErr, logSource),
		wantError("a dry run of what would be refused", otherErr, admin.ErrInvalidRequest),
		p.wantPartitions(ctx, admin.PartitionState{TopicPartition: theLog(), Next: 3, Current: true}),
		p.wantAudit(ctx), p.wantNext(ctx, logSource, 3),
	)
}

func checkWatermarkAudit(ctx context.Context, p positions) {
	if _, ok := p.in.(admin.Auditor); !ok {
		fail.With("%w: admin.Auditor", ErrLacks)
	}
	err := p.wantNext(ctx, logSource, 3)
	_, setErr := p.set(ctx, 7, false)
	_, acceptErr := p.accept(ctx, newSource, false)
	_, removeErr := p.remove(ctx, false)
	_, refused := p.remove(ctx, false)
	fail.IfAny(err, setErr, acceptErr, removeErr, wantError("remove of nothing", refused, admin.ErrInvalidRequest),
		p.wantAudit(ctx, "remove_watermark events suite", "accept_source events suite", "set_watermark events suite"))
}

func checkWatermarkRequests(ctx context.Context, p positions) {
	err := p.wantNext(ctx, logSource, 3)
	for what, change := range map[string]func(r *admin.SetWatermarkRequest){
		"no actor":                  func(r *admin.SetWatermarkRequest) { r.Actor = "" },
		"no consumer":               func(r *admin.SetWatermarkRequest) { r.Consumer = "" },
		"a negative offset":         func(r *admin.SetWatermarkRequest) { r.Next = -1 },
		"a negative partition":      func(r *admin.SetWatermarkRequest) { r.Partition = -1 },
		"no source":                 func(r *admin.SetWatermarkRequest) { r.Source = "" },
		"a source of another topic": func(r *admin.SetWatermarkRequest) { r.Topic = otherTopic },
	} {
		r := admin.SetWatermarkRequest{By: someone(), Consumer: consumer, TopicPartition: theLog(), Next: 1}
		change(&r)
		_, setErr := p.in.SetWatermark(ctx, r)
		err = errors.Join(err, wantError("set with "+what, setErr, admin.ErrInvalidRequest))
	}
	accept := admin.AcceptSourceRequest{By: someone(), Consumer: consumer, Topic: otherTopic, Source: logSource}
	_, acceptErr := p.in.AcceptSource(ctx, accept)
	fail.IfAny(err, wantError("a source of another topic", acceptErr, admin.ErrInvalidRequest), p.wantNext(ctx, logSource, 3))
}
