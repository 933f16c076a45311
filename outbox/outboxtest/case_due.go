package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

func dueChecks() []Check {
	all := []Check{
		{Name: "O14_DueIsBoundedInBytes", run: dueIsBoundedInBytes},
		{Name: "O14_RenewWaitsForNoRead", run: renewWaitsForNoRead},
	}
	for i := range all {
		all[i].skip = func(f Features) bool { return f.NoHolder }
	}
	return all
}

// dueIsBoundedInBytes holds three times what one call of Due may return, and delivers
// all of it while the lease is being renewed.
func dueIsBoundedInBytes(ctx context.Context, tr *trial) error {
	s, want, err := tr.holdLarge(ctx)
	if err != nil {
		return err
	}
	stop := s.reader.keepRenewing(ctx)
	got, err := s.deliverDue(ctx, tr.features.DueBytes)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		return fmt.Errorf("due: records %v, want %v", got, want)
	}
	return s.reader.expectDrain(ctx, 10)
}

// holdLarge holds records of about a megabyte, all of them due, and returns their numbers.
func (tr *trial) holdLarge(ctx context.Context) (s *setAside, held []int64, err error) {
	size := min(1<<20, tr.features.MaxPayloadBytes)
	msgs := make([]outbox.Message, 3*tr.features.DueBytes/size+1)
	for i := range msgs {
		msgs[i] = outbox.Message{Topic: testTopic, Payload: slices.Repeat([]byte(strconv.Itoa(i%10)), size)}
	}
	for i := range msgs { // a transaction may have a bound below that of them all
		if err := tr.commit(ctx, msgs[i]); err != nil {
			return nil, nil, err
		}
	}
	if s, err = tr.holder(ctx); err != nil {
		return nil, nil, err
	}
	for len(held) < len(msgs) {
		p, err := s.reader.page(ctx, len(msgs))
		if err != nil {
			return nil, nil, err
		}
		if len(p.Records) == 0 {
			return nil, nil, fmt.Errorf("read: %d records of %d", len(held), len(msgs))
		}
		all := make([]driver.Holding, len(p.Records))
		for i := range p.Records {
			all[i] = driver.Holding{Index: i, Fate: driver.FateRetry}
			held = append(held, p.Records[i].Seq)
		}
		if err := s.Hold(ctx, p, len(all), all); err != nil {
			return nil, nil, fmt.Errorf("hold: %w", err)
		}
	}
	return s, held, nil
}

// deliverDue delivers what is due until nothing is, and returns the numbers. Only the
// last record of a call may pass bound.
func (s *setAside) deliverDue(ctx context.Context, bound int) (seqs []int64, err error) {
	for {
		due, err := s.Due(ctx, 100, nil)
		if err != nil {
			return nil, fmt.Errorf("due: %w", err)
		}
		if len(due) == 0 || len(seqs) > mostRecords {
			return seqs, nil
		}
		bytes := 0
		for i := range due {
			if bytes >= bound {
				return nil, fmt.Errorf("due: %d records, the first %d of which have %d bytes", len(due), i, bytes)
			}
			bytes += len(due[i].Payload)
			seqs = append(seqs, due[i].Seq)
		}
		if err := s.deliver(ctx, due); err != nil {
			return nil, err
		}
	}
}

// renewWaitsForNoRead renews the lease while a read of held records waits.
func renewWaitsForNoRead(ctx context.Context, tr *trial) error {
	blocker, ok := tr.Subject.(ReadBlocker)
	if !ok {
		return nil
	}
	s, err := tr.holder(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		what string
		read func() error
	}{
		{"Due", func() error { _, err := s.Due(ctx, 1, nil); return err }},
		{"HeldKeys", func() error { _, err := s.HeldKeys(ctx); return err }},
		{"CountHeld", func() error { _, err := s.CountHeld(ctx); return err }},
	} {
		if err := s.renewDuring(ctx, blocker, c.read); err != nil {
			return fmt.Errorf("while %s waits: %w", c.what, err)
		}
	}
	return nil
}

func (s *setAside) renewDuring(ctx context.Context, blocker ReadBlocker, read func() error) error {
	waits, release, err := blocker.BlockHeld(ctx)
	if err != nil {
		return fmt.Errorf("block reads of held records: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- read() }()
	if err = waits(ctx); err == nil {
		err = s.reader.renewInTime(ctx)
	}
	release()
	return errors.Join(err, <-ended)
}
