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
)

// Positioned is an inbox of positions.
type Positioned interface {
	Processor
	driver.Assigner
}

// WatermarkSubject is a store of positions under test: empty when a check gets it, and used
// by that check alone.
type WatermarkSubject interface {
	// Open returns an inbox of positions that reads the topics.
	Open(consumer string, topics ...string) (Positioned, error)

	// Watermarks returns what operators see of all inboxes, and do about them. If it is
	// an admin.Auditor as well, the audit is checked.
	Watermarks() (admin.Watermarks, error)
}

// WatermarkCheck is one case of RunWatermarks.
type WatermarkCheck struct {
	// Name names it.
	Name string

	run func(ctx context.Context, p positions) error
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
	if err := c.run(ctx, positions{Positioned: p, in: marks}); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// RunWatermarks runs the checks of what operators see and do about positions in parallel,
// each on a new subject.
func RunWatermarks(t *testing.T, newSubject func(t *testing.T) WatermarkSubject) {
	t.Helper()
	for _, c := range WatermarkChecks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// WatermarkChecks returns the checks that RunWatermarks runs.
func WatermarkChecks() []WatermarkCheck {
	return []WatermarkCheck{
		{"Watermarks_LookingRegistersNobody", checkWatermarksOfNobody},
		{"Watermarks_SetAndRemove", checkWatermarkSet},
		{"Watermarks_AcceptSource", checkSourceAccepted},
		{"Watermarks_DryRunChangesNothing", checkWatermarkDryRun},
		{"Watermarks_ChangesAreAudited", checkWatermarkAudit},
		{"Watermarks_RequestsAreChecked", checkWatermarkRequests},
	}
}

const (
	logTopic, otherTopic = "events", "others"
	logSource            = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90"
	newSource            = "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f"
)

// positions are an inbox of positions, and what operators see of it.
type positions struct {
	Positioned

	in admin.Watermarks
}

// assign begins a session, and returns where it reads on.
func (p positions) assign(ctx context.Context, source string) (int64, error) {
	next, err := p.Assigned(ctx, []driver.Assignment{{Source: source, Topic: logTopic, End: 9, From: 3}})
	if err != nil || len(next) != 1 {
		return 0, fmt.Errorf("assigned %v: %w", next, orNone(err))
	}
	return next[0], nil
}

// wantNext begins a session, and compares where it reads on.
func (p positions) wantNext(ctx context.Context, source string, want int64) error {
	got, err := p.assign(ctx, source)
	if err == nil && got != want {
		err = fmt.Errorf("the session reads on at %d, want %d", got, want)
	}
	return err
}

func theLog() admin.TopicPartition {
	return admin.TopicPartition{Topic: logTopic, Source: logSource}
}

func (p positions) set(ctx context.Context, next int64, dryRun bool) (int64, error) {
	return p.in.SetWatermark(ctx, admin.SetWatermarkRequest{
		By: someone(), Consumer: consumer, TopicPartition: theLog(), Next: next, DryRun: dryRun,
	})
}

func (p positions) remove(ctx context.Context, dryRun bool) (int64, error) {
	return p.in.RemoveWatermark(ctx, admin.RemoveWatermarkRequest{
		By: someone(), Consumer: consumer, TopicPartition: theLog(), DryRun: dryRun,
	})
}

func (p positions) accept(ctx context.Context, source string, dryRun bool) (string, error) {
	return p.in.AcceptSource(ctx, admin.AcceptSourceRequest{
		By: someone(), Consumer: consumer, Topic: logTopic, Source: source, DryRun: dryRun,
	})
}

// wantPartitions compares what is remembered.
func (p positions) wantPartitions(ctx context.Context, want ...admin.PartitionState) error {
	got, err := p.in.Partitions(ctx, admin.PartitionsQuery{Consumer: consumer})
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("remembered are %+v, want %+v", got, want)
	}
	return err
}

// wantValue compares what a change returned.
func wantValue[T comparable](got T, err error, want T) error {
	if err == nil && got != want {
		err = fmt.Errorf("it was %v before, want %v", got, want)
	}
	return err
}

func checkWatermarksOfNobody(ctx context.Context, p positions) error {
	_, listErr := p.in.Partitions(ctx, admin.PartitionsQuery{Consumer: consumer})
	_, setErr := p.set(ctx, 1, false)
	_, removeErr := p.remove(ctx, false)
	_, acceptErr := p.accept(ctx, logSource, false)
	_, stillErr := p.in.Partitions(ctx, admin.PartitionsQuery{Consumer: consumer})
	return errors.Join(
		wantError("partitions of nobody", listErr, admin.ErrUnknownConsumer), wantError("set for nobody", setErr, admin.ErrUnknownConsumer),
		wantError("remove for nobody", removeErr, admin.ErrUnknownConsumer), wantError("accept for nobody", acceptErr, admin.ErrUnknownConsumer),
		wantError("partitions of nobody, again", stillErr, admin.ErrUnknownConsumer),
	)
}

func checkWatermarkSet(ctx context.Context, p positions) error {
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
	return errors.Join(err, wantValue(was, setErr, -1), p.wantNext(ctx, logSource, 5))
}

func checkSourceAccepted(ctx context.Context, p positions) error {
	err := p.wantNext(ctx, logSource, 3)
	_, changedErr := p.assign(ctx, newSource)
	err = errors.Join(err, wantError("a topic that was made again", changedErr, driver.ErrSourceChanged))
	was, acceptErr := p.accept(ctx, newSource, false)
	err = errors.Join(err, wantValue(was, acceptErr, logSource), p.wantNext(ctx, newSource, 0))
	was, acceptErr = p.accept(ctx, logSource, false)
	return errors.Join(err, wantValue(was, acceptErr, newSource), p.wantNext(ctx, logSource, 3)) // it comes back
}

func checkWatermarkDryRun(ctx context.Context, p positions) error {
	err := p.wantNext(ctx, logSource, 3)
	wasSet, setErr := p.set(ctx, 7, true)
	wasRemoved, removeErr := p.remove(ctx, true)
	wasAccepted, acceptErr := p.accept(ctx, newSource, true)
	_, otherErr := p.in.RemoveWatermark(ctx, admin.RemoveWatermarkRequest{
		By: someone(), Consumer: consumer, DryRun: true, TopicPartition: admin.TopicPartition{Topic: logTopic, Source: logSource, Partition: 5},
	})
	return errors.Join(err, wantValue(wasSet, setErr, 3), wantValue(wasRemoved, removeErr, 3), wantValue(wasAccepted, acceptErr, logSource),
		wantError("a dry run of what would be refused", otherErr, admin.ErrInvalidRequest),
		p.wantPartitions(ctx, admin.PartitionState{TopicPartition: theLog(), Next: 3, Current: true}),
		p.wantAudit(ctx), p.wantNext(ctx, logSource, 3),
	)
}

// wantAudit compares what was done, the newest first, and by whom.
func (p positions) wantAudit(ctx context.Context, want ...string) error {
	auditor, ok := p.in.(admin.Auditor)
	if !ok {
		return nil
	}
	entries, err := auditor.Audit(ctx, admin.AuditQuery{Consumer: consumer, Newest: true})
	got := make([]string, len(entries))
	for i, e := range entries {
		got[i] = e.Action + " " + e.Topic + " " + e.Actor
		if e.Reason != someone().Reason || len(e.Details) == 0 || e.ParkedNo != 0 || e.Consumer != consumer {
			err = errors.Join(err, fmt.Errorf("an entry is %+v", e))
		}
	}
	if !slices.Equal(got, want) {
		err = errors.Join(err, fmt.Errorf("the audit is %q, want %q", got, want))
	}
	return err
}

func checkWatermarkAudit(ctx context.Context, p positions) error {
	err := p.wantNext(ctx, logSource, 3)
	_, setErr := p.set(ctx, 7, false)
	_, acceptErr := p.accept(ctx, newSource, false)
	_, removeErr := p.remove(ctx, false)
	_, refused := p.remove(ctx, false)
	return errors.Join(err, setErr, acceptErr, removeErr, wantError("remove of nothing", refused, admin.ErrInvalidRequest),
		p.wantAudit(ctx, "remove_watermark events suite", "accept_source events suite", "set_watermark events suite"))
}

func checkWatermarkRequests(ctx context.Context, p positions) error {
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
	return errors.Join(err, wantError("a source of another topic", acceptErr, admin.ErrInvalidRequest), p.wantNext(ctx, logSource, 3))
}
