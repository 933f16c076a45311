package inboxtest

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
)

func subjectFeatures(s Subject) []feature {
	_, forgets := s.(Forgetter)
	_, collides := s.(Collider)
	_, fails := s.(FailureSubject)
	_, batches := s.(BatchSubject)
	_, marks := s.(MarkSubject)
	all := []feature{
		{"several writers", Features{OneWriter: true}, oneWriter, nil, "", true, looking(s, seeWriters)},
		{"copies that are told at once", Features{Optimistic: true}, optimistic, nil, "", true, looking(s, seeBusy)},
		{"outgoing messages", Features{NoOutbox: true}, needsOutbox, nil, "", true, looking(s, seeOutbox)},
		{"commits that break", Features{NoBreakCommit: true}, needsBreakCommit, nil, "", true, looking(s, seeBreaking)},
		{"forgetting", Features{NoForget: true}, noForget, nil, "", forgets, looking(s, seeForgetting)},
		{"locks that messages share", Features{NoSharedLocks: true}, noSharedLocks, nil, "", collides, is[Collider](s)},
		{"failures", Features{NoFailures: true}, noFailures, nil, " of RunFailures and RunAdmin", fails, looking(s, seeFailures)},
		{"audit", Features{NoAudit: true}, noAudit, nil, " of RunAdmin", true, looking(s, seeAudit)},
		{"marks", Features{NoMarks: true}, noMarks, nil, "", marks, looking(s, seeMarks)},
		{"batches", Features{NoBatches: true}, noBatches, nil, " of RunBatch, and random ones", batches, looking(s, seeBatches)},
	}
	for i := range all {
		all[i].checks = func(f Features) int { return len(allChecks(f)) }
	}
	return all
}

func positionFeatures(s PositionSubject) []feature {
	_, forgets := s.(PositionForgetter)
	checks := func(f Features) int { return len(positionChecks(f)) }
	return []feature{{"commits that are lost", Features{NoLoss: true}, noLoss, checks, "", forgets, is[PositionForgetter](s)}}
}

func watermarkFeatures(s WatermarkSubject) []feature {
	checks := func(f Features) int { return len(WatermarkChecks(f)) }
	return []feature{{"audit", Features{NoAudit: true}, noAudit, checks, "", true, func(context.Context) (presence, error) {
		marks, err := s.Watermarks()
		_, is := marks.(admin.Auditor)
		return found(is), err
	}}}
}

func looking(s Subject, see func(ctx context.Context, s Subject) (presence, error)) func(ctx context.Context) (presence, error) {
	return func(ctx context.Context) (there presence, err error) {
		failed := fail.Caught(func() { there, err = see(ctx, s) })
		return there, errors.Join(failed, err)
	}
}

// is returns a function that finds out whether s implements T.
func is[T any](s any) func(ctx context.Context) (presence, error) {
	return func(context.Context) (presence, error) {
		_, is := s.(T)
		return found(is), nil
	}
}

// seeWriters delivers a message while a different one is in progress.
func seeWriters(ctx context.Context, s Subject) (presence, error) {
	p := open(s)
	var outcome inbox.Outcome
	err := probe(ctx, s, p, "a", func() error {
		meanwhile, cancel := context.WithTimeout(ctx, promptly)
		defer cancel()
		outcome, _ = deliver(meanwhile, p, newMessage(meanwhile, "b"), writing(s, "b")) // any error: it may not work
		return nil
	})
	return found(outcome == inbox.OutcomeCommitted), err
}

// seeBusy delivers a copy of a message that is in progress.
func seeBusy(ctx context.Context, s Subject) (presence, error) {
	p, err := s.Open(consumer, inbox.Config{BusyDelay: inbox.NoDelay})
	if err != nil {
		return unknown, err
	}
	var outcome inbox.Outcome
	_, err = deliver(ctx, p, newMessage(ctx, "copied"), func(context.Context) error {
		meanwhile, cancel := context.WithTimeout(ctx, promptly)
		defer cancel()
		outcome, _ = deliver(meanwhile, p, newMessage(meanwhile, "copied"), func(context.Context) error { return errHandler })
		return nil
	})
	return found(outcome == inbox.OutcomeBusy), err
}

func seeOutbox(_ context.Context, s Subject) (presence, error) {
	return found(s.Outbox() != nil), nil
}

func seeBreaking(ctx context.Context, s Subject) (presence, error) {
	p := open(s)
	s.BreakCommit(false)
	_, err := deliver(ctx, p, newMessage(ctx, "a"), writing(s, "a"))
	if errors.Is(err, inbox.ErrCommitUnknown) {
		return present, nil
	}
	return absent, err
}

// seeForgetting looks for a Forgetter, or else for an admin.Retainer that forgets.
func seeForgetting(ctx context.Context, s Subject) (presence, error) {
	if _, is := s.(Forgetter); is {
		return present, nil
	}
	in, err := adminOf(s)
	retainer, is := in.(admin.Retainer)
	if err != nil || !is {
		return absent, err
	}
	kept, err := retainer.Retention(ctx)
	return found(kept.Mode != admin.RetainAll), err
}

// adminOf returns the admin.Inbox of s, or nil if it has none.
func adminOf(s Subject) (admin.Inbox, error) {
	f, ok := s.(FailureSubject)
	if !ok {
		return nil, nil //nolint:nilnil // s has no operators' interface
	}
	return f.Admin()
}

// seeFailures looks for a FailureSubject, or else tries to open an inbox that parks.
func seeFailures(_ context.Context, s Subject) (presence, error) {
	if _, is := s.(FailureSubject); is {
		return present, nil
	}
	_, err := s.Open(consumer, inbox.Config{OnFailure: parking()})
	if errors.Is(err, outbox.ErrInvalidConfig) {
		return absent, nil
	}
	return present, err
}

func seeAudit(_ context.Context, s Subject) (presence, error) {
	in, err := adminOf(s)
	_, is := in.(admin.Auditor)
	return found(is), err
}

// seeMarks looks for a MarkSubject, or else for a driver.Marker in the inbox that the subject opens.
func seeMarks(_ context.Context, s Subject) (presence, error) {
	if _, is := s.(MarkSubject); is {
		return present, nil
	}
	in, err := s.Open(consumer, inbox.Config{})
	_, is := in.(driver.Marker)
	return found(is), err
}

// seeBatches looks for a BatchSubject, or else for an inbox.Processor, and for a BatchStore in it.
func seeBatches(_ context.Context, s Subject) (presence, error) {
	if _, is := s.(BatchSubject); is {
		return present, nil
	}
	p, err := s.Open(consumer, inbox.Config{OnFailure: inbox.Policy{Delay: time.Millisecond}})
	if err != nil {
		return unknown, err
	}
	processor, ok := p.(*inbox.Processor)
	if v := reflect.Indirect(reflect.ValueOf(p)); !ok && v.Kind() == reflect.Struct && v.FieldByName("Processor").IsValid() {
		processor, ok = reflect.TypeAssert[*inbox.Processor](v.FieldByName("Processor")) // as stores embed it
	}
	if !ok {
		return unknown, nil
	}
	_, err = inbox.NewBatch(processor, inbox.BatchConfig{})
	return found(err == nil), nil
}
