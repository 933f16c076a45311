package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox/admin"
)

func parkedKeysAreListed(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	all, err := s.op.ParkedKeys(ctx, admin.KeysQuery{Topic: "or*"})
	if err != nil || len(all) != 3 {
		return fmt.Errorf("parked keys: %+v, want 3: %w", all, errors.Join(err, errWrongAnswer))
	}
	for i, want := range []admin.ParkedKey{
		{Key: testKey("k"), Records: 2, Attempts: 2, Reason: "tried too often", LastError: timeoutOf7, LastKind: "unknown"},
		{Key: testKey("l"), Records: 1, Attempts: 1, LastError: timeoutOf8, LastKind: "unknown"},
		{Key: testKey(""), Records: 1, Attempts: 1, LastError: tooLarge, LastKind: "permanent"},
	} {
		got := all[i]
		if got.Seq == 0 || got.ID == "" || got.Since.IsZero() {
			return fmt.Errorf("parked keys: %+v lacks its record", got)
		}
		want.Seq, want.ID, want.Since = got.Seq, got.ID, got.Since
		if got != want {
			return fmt.Errorf("parked keys: %+v, want %+v", got, want)
		}
	}
	next, err := s.op.ParkedKeys(ctx, admin.KeysQuery{After: all[0].Seq, Limit: 1})
	if err != nil || len(next) != 1 || next[0] != all[1] {
		return fmt.Errorf("parked keys after %d: %+v, want %+v: %w", all[0].Seq, next, all[1], errors.Join(err, errWrongAnswer))
	}
	return nil
}

func failuresAreGrouped(ctx context.Context, tr *trial) error {
	s, err := ward(ctx, tr)
	if err != nil {
		return err
	}
	all, err := s.op.Failures(ctx, admin.FailuresQuery{})
	if err != nil || len(all) != 2 {
		return fmt.Errorf("failures: %+v, want 2 groups: %w", all, errors.Join(err, errWrongAnswer))
	}
	timeouts, large := all[0], all[1]
	if timeouts.Records != 2 || timeouts.Kind != "unknown" || timeouts.Topic != testTopic || timeouts.Last.Before(timeouts.First) ||
		timeouts.Fingerprint != admin.Fingerprint(timeoutOf7) || !slices.Contains([]string{timeoutOf7, timeoutOf8}, timeouts.Example) {
		return fmt.Errorf("failures: %+v, want those of a and c", timeouts)
	}
	if large.Records != 1 || large.Kind != "permanent" || large.Fingerprint != tooLarge {
		return fmt.Errorf("failures: %+v, want that of f", large)
	}
	dead, err := s.op.Failures(ctx, admin.FailuresQuery{Dead: true, Topic: "o*"})
	if err != nil || len(dead) != 1 || dead[0].Fingerprint != tooLarge {
		return fmt.Errorf("failures of the dead: %+v, want one: %w", dead, errors.Join(err, errWrongAnswer))
	}
	changed, err := s.op.Redrive(ctx, admin.RedriveRequest{By: by(), Selection: admin.Selection{Fingerprint: timeouts.Fingerprint}})
	if err != nil || changed.Count != 2 {
		return fmt.Errorf("redrive by fingerprint: %+v, want a and c: %w", changed, errors.Join(err, errWrongAnswer))
	}
	left, err := s.op.Held(ctx, admin.HeldQuery{State: admin.HeldParked})
	if err != nil {
		return err
	}
	return expect(recordsIn(left), "f")
}
