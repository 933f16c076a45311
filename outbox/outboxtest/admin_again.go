package outboxtest

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// parkedAgainIsNew: a record that was redriven and has failed again is parked since then, and so
// are the times of its failure.
func parkedAgainIsNew(ctx context.Context, tr *trial) {
	s := ward(ctx, tr)
	before := s.parkedSince(ctx)
	fail.If(pause(ctx))
	_, err := s.op.Redrive(ctx, admin.ChangeRequest{By: by(), Selection: admin.Selection{Topic: testTopic, Key: "l"}})
	fail.If(err, "redrive")
	due, err := s.Due(ctx, 10, nil)
	fail.If(err, "due")
	for i := range due {
		if string(due[i].Payload) != "c" {
			continue
		}
		_, err := s.Resolve(ctx, []driver.Verdict{{
			Record: &due[i].Record, Fate: driver.FatePark, Attempts: failedOf(outbox.FailureUnknown, timeoutOf8), Reason: "failed again",
		}})
		fail.If(err, "resolve")
	}
	if after := s.parkedSince(ctx); !after.After(before) {
		fail.With("parked again: since %s, want later than %s", after, before)
	}
}

// parkedSince is when the record of key l was parked, by its key and by its failure.
func (s *setAside) parkedSince(ctx context.Context) time.Time {
	held, err := s.op.Held(ctx, admin.HeldQuery{Topic: testTopic, Key: "l", State: admin.HeldParked})
	if err != nil || len(held) != 1 {
		fail.With("held of key l: %+v, want 1: %w", held, errors.Join(err, errWrongAnswer))
	}
	keys, err := s.op.ParkedKeys(ctx, admin.KeysQuery{})
	fail.If(err, "parked keys")
	for _, k := range keys {
		if k.Key.Key == "l" && !k.Since.Equal(held[0].Since) {
			fail.With("key l is parked since %s, and its record since %s", k.Since, held[0].Since)
		}
	}
	return held[0].Since
}
