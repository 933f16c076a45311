package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
)

const (
	logTopic, otherTopic = "events", "others"
	logSource            = "6b0f3a52-7c1d-4e8e-9a44-5d2f0c7b1e90"
	newSource            = "0d9c1b7e-52a4-4f0b-8f5e-3b1a6c2d4e5f"
)

// positions is an inbox of positions with its operators' interface.
type positions struct {
	PositionProcessor

	in admin.Watermarks
}

// assign begins a session, and returns the offset at which it continues.
func (p positions) assign(ctx context.Context, source string) (int64, error) {
	next, err := p.Assigned(ctx, []driver.Assignment{{Source: source, Topic: logTopic, End: 9, From: 3}})
	if err != nil || len(next) != 1 {
		return 0, fmt.Errorf("assigned %v: %w", next, orNone(err))
	}
	return next[0], nil
}

// wantNext begins a session, and compares the offset at which it continues.
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

// wantPartitions compares the remembered positions.
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

// wantAudit compares the audited actions, the newest first, and their actors.
func (p positions) wantAudit(ctx context.Context, want ...string) error {
	auditor, ok := p.in.(admin.Auditor)
	if !ok {
		return nil
	}
	entries, err := auditor.Audit(ctx, admin.AuditQuery{Consumer: consumer, Newest: true})
	got := make([]string, len(entries))
	for i, e := range entries {
		got[i] = e.Action + " " + e.Topic + " " + e.Actor
		if e.Reason != someone().Reason || !knows(e) || e.ParkedNo != 0 || e.Consumer != consumer {
			err = errors.Join(err, fmt.Errorf("an entry is %+v", e))
		}
	}
	if !slices.Equal(got, want) {
		err = errors.Join(err, fmt.Errorf("the audit is %q, want %q", got, want))
	}
	return err
}
