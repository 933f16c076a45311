package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
)

func tailChecks() []Check {
	return []Check{
		{Name: "Tail_O2_BringsWhatRingsNoBell", run: tailBringsWhatRingsNoBell},
		{Name: "Tail_O5_KeysKeepTheirOrderAtTheSeam", run: keysKeepTheirOrderAtTheSeam},
		{Name: "Tail_O11_BeginsInTheBackground", run: tailBeginsInTheBackground},
		{Name: "Tail_O2_EarlyThenCrash", run: earlyThenCrash},
		{Name: "Tail_O2_EarlyPassesNoLateCommit", run: earlyPassesNoLateCommit},
		{Name: "Tail_O2_WithdrawnComesAgain", run: withdrawnComesAgain},
	}
}

// tailBringsWhatRingsNoBell: what is committed comes without a look into the log, once,
// and a session that is released has passed it.
func tailBringsWhatRingsNoBell(ctx context.Context, tr *trial) error {
	f, err := tr.followed(ctx)
	if err != nil {
		return err
	}
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 3)
		select { // of the round before
		case <-f.wakes:
		default:
		}
		if err := tr.commit(ctx, keyed("k", batch...)...); err != nil {
			return err
		}
		if err := f.pause(ctx); err != nil {
			return fmt.Errorf("no wake tells of what was committed: %w", err)
		}
		if err := f.expectNext(ctx, batch...); err != nil {
			return err
		}
	}
	r, err := tr.hand(ctx, f.reader)
	if err != nil {
		return err
	}
	if err := r.expectDrain(ctx, 10); err != nil {
		return fmt.Errorf("behind a release: %w", err)
	}
	return r.Release(ctx)
}

const (
	// seamLook is a time between two looks in which some messages come early.
	seamLook = 20 * time.Millisecond
	// seamPace is the time between two transactions, so that looks come due.
	seamPace = seamLook / 10
)

// keysKeepTheirOrderAtTheSeam reads early pages and others in turns, beside a transaction
// that is older than the tail and commits late.
func keysKeepTheirOrderAtTheSeam(ctx context.Context, tr *trial) error {
	commitLate, err := tr.openLate(ctx, keyed("late", "late-1")...)
	if err != nil {
		return err
	}
	f, err := tr.following(ctx, seamLook)
	if err != nil {
		return err
	}
	seam := seam{follower: f, want: make(map[string][]string)}
	for round := 0; !seam.crossed(); round++ {
		switch round {
		case 10:
			if err := commitLate(ctx); err != nil {
				return err
			}
			seam.want["late"] = []string{"late-1"}
		case mostRecords / 10:
			return fmt.Errorf("after %d transactions: %d pages came early, %d by a look", round, seam.early, seam.looked)
		}
		if err := errors.Join(seam.round(ctx, round), wait.For(ctx, seamPace)); err != nil {
			return err
		}
	}
	f.tailed.Follow(false)
	rest, err := f.drain(ctx, 2)
	if err != nil {
		return err
	}
	if err := seam.check(append(seam.got, rest...)); err != nil {
		return err
	}
	return f.Release(ctx)
}

// seam is what was written and read around the ends of windows.
type seam struct {
	*follower

	want   map[string][]string // by key
	got    []outbox.Record
	early  int // pages
	looked int // pages of windows behind the first early one
}

// crossed reports whether enough has come on both ways, in turns.
func (s *seam) crossed() bool { return s.early >= 20 && s.looked >= 20 && s.want["late"] != nil }

// round writes a few messages and reads some: what is left of a window, at times, when
// others come early.
func (s *seam) round(ctx context.Context, round int) error {
	key := fmt.Sprintf("key%d", round%2)
	names := numbered(fmt.Sprintf("round%d", round), 3)
	if round > 10 && round%5 == 0 {
		key = "late"
	}
	if err := s.trial.commit(ctx, keyed(key, names...)...); err != nil {
		return err
	}
	s.want[key] = append(s.want[key], names...)
	for range 1 + round%3 {
		p, err := s.page(ctx, 2)
		if err != nil || len(p.Records) == 0 {
			return err
		}
		switch {
		case p.Early:
			s.early++
		case s.early > 0:
			s.looked++
		}
		s.got = append(s.got, p.Records...)
		if err := s.settle(ctx, p, len(p.Records)); err != nil {
			return err
		}
	}
	return nil
}

// check compares what was read with what was written, and the order of each key.
func (s *seam) check(got []outbox.Record) error {
	var all []string
	for _, names := range s.want {
		all = append(all, names...)
	}
	if err := expectSet(got, all); err != nil {
		return err
	}
	for key, want := range s.want {
		of := slices.DeleteFunc(slices.Clone(got), func(r outbox.Record) bool { return r.Key != key })
		if err := expect(of, want...); err != nil {
			return fmt.Errorf("key %s: %w", key, err)
		}
	}
	return nil
}

// tailBeginsInTheBackground: transactions that are older than the tail may keep it from
// beginning, and keep nothing from being read.
func tailBeginsInTheBackground(ctx context.Context, tr *trial) error {
	release := func() {}
	if holder, ok := tr.Subject.(ForeignHolder); ok {
		end, err := holder.HoldForeign(ctx)
		if err != nil {
			return fmt.Errorf("hold a foreign transaction: %w", err)
		}
		release = sync.OnceFunc(end)
		tr.cleanup(release)
	}
	commitLate, err := tr.openLate(ctx, named("late")...)
	if err != nil {
		return err
	}
	f, err := tr.following(ctx, seamLook)
	if err != nil {
		return err
	}
	for round := range 5 {
		batch := numbered(fmt.Sprintf("round%d", round), 3)
		if err := tr.commit(ctx, keyed("k", batch...)...); err != nil {
			return err
		}
		if err := f.expectNext(ctx, batch...); err != nil {
			return fmt.Errorf("while transactions are open that are older: %w", err)
		}
	}
	release()
	if err := errors.Join(commitLate(ctx), f.expectNext(ctx, "late")); err != nil {
		return err
	}
	return errors.Join(f.join(ctx), f.Release(ctx))
}
