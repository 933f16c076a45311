package dedupetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/dedupe"
)

// oneOfMany lets many claim the same key at once.
func oneOfMany(ctx context.Context, s Subject) error {
	const claimers = 16
	claims := make([]dedupe.Claim, claimers)
	errs := make([]error, claimers)
	var wg sync.WaitGroup
	for i := range claimers {
		wg.Go(func() { claims[i], errs[i] = claim(ctx, s, key("m"), fmt.Sprint("t", i), long) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	got := 0
	for _, c := range claims {
		switch {
		case c.Status == dedupe.Claimed && c.Attempt == 1 && !c.Takeover:
			got++
		case c.Status != dedupe.Busy || c.Remaining <= 0 || c.Remaining > long:
			return fmt.Errorf("a claimer got %+v", c)
		}
	}
	if got != 1 {
		return fmt.Errorf("%d of %d claimers got it", got, claimers)
	}
	return nil
}

// keysAreApart claims different keys whose parts, joined, give the same text.
func keysAreApart(ctx context.Context, s Subject) error {
	keys := []dedupe.Key{
		{Consumer: "a", ID: "b:c"},
		{Consumer: "a:b", ID: "c"},
		{Consumer: "a", ID: "b"},
		{Consumer: "ab", ID: ":c"},
		{Consumer: "1:a", ID: "b"},
		{Consumer: "a", ID: "B"},
		{Consumer: "a", ID: "b "},
		{Consumer: "a", ID: "{b}"},
		{Consumer: "ä", ID: "ö\x00ü"},
		{Consumer: "a", ID: "*"},
	}
	for i, k := range keys {
		if err := expectClaim(ctx, s, k, fmt.Sprint("t", i), long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}); err != nil {
			return err
		}
	}
	return nil
}

func onlyTheHolder(ctx context.Context, s Subject) error {
	k := key("m")
	return errors.Join(
		expectClaim(ctx, s, k, "mine", long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}),
		expectExtend(ctx, s, k, "other", dedupe.ErrFenced),
		expectComplete(ctx, s, k, "other", "x", dedupe.Fenced),
		s.Release(ctx, k, "other"),
		expectClaim(ctx, s, k, "other", long, dedupe.Claim{Status: dedupe.Busy, Attempt: 1}),
		expectExtend(ctx, s, k, "mine", nil),
		expectExtend(ctx, s, key("never claimed"), "mine", dedupe.ErrFenced),
		s.Release(ctx, key("never claimed"), "mine"),
		expectComplete(ctx, s, k, "mine", "y", dedupe.Completed),
		expectClaim(ctx, s, k, "other", long, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("y")}),
	)
}

func doneIsTerminal(ctx context.Context, s Subject) error {
	k, done := key("m"), dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("result")}
	return errors.Join(
		expectClaim(ctx, s, k, "t", long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}),
		expectComplete(ctx, s, k, "t", "result", dedupe.Completed),
		expectClaim(ctx, s, k, "t", long, done),
		expectClaim(ctx, s, k, "u", long, done),
		expectExtend(ctx, s, k, "t", dedupe.ErrFenced),
		s.Release(ctx, k, "t"),
		s.Release(ctx, k, "u"),
		expectComplete(ctx, s, k, "u", "another", dedupe.FencedDone),
		expectClaim(ctx, s, k, "u", long, done),
	)
}

func resultsAreBytes(ctx context.Context, s Subject) error {
	for i, result := range []string{"", "\n", "a\nb", "\x00\xff\xfe", "P x 1 2 3 ", " leading and trailing "} {
		k := key(fmt.Sprint("m", i))
		err := errors.Join(
			expectClaim(ctx, s, k, "t", long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}),
			expectComplete(ctx, s, k, "t", result, dedupe.Completed),
			expectClaim(ctx, s, k, "u", long, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte(result)}),
		)
		if err != nil {
			return fmt.Errorf("result %q: %w", result, err)
		}
	}
	return nil
}

// takeover waits for the end of a lease.
func takeover(ctx context.Context, s Subject) error {
	const lease = 80 * time.Millisecond
	k, asked := key("m"), time.Now()
	if err := expectClaim(ctx, s, k, "old", lease, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}); err != nil {
		return err
	}
	c, err := awaitClaim(ctx, s, k, "new", long)
	if err != nil {
		return err
	}
	if early := lease - time.Since(asked); early > 2*time.Millisecond {
		return fmt.Errorf("taken over %s before the lease was over", early)
	}
	return errors.Join(
		same("the takeover", c, dedupe.Claim{Status: dedupe.Claimed, Takeover: true, Attempt: 2}),
		expectExtend(ctx, s, k, "old", dedupe.ErrFenced),
		expectComplete(ctx, s, k, "old", "old", dedupe.Fenced),
		s.Release(ctx, k, "old"),
		expectClaim(ctx, s, k, "third", long, dedupe.Claim{Status: dedupe.Busy, Attempt: 2}),
		expectComplete(ctx, s, k, "new", "new", dedupe.Completed),
		expectComplete(ctx, s, k, "old", "old", dedupe.FencedDone),
		expectClaim(ctx, s, k, "third", long, dedupe.Claim{Status: dedupe.Done, Attempt: 2, Result: []byte("new")}),
	)
}

// extendedHolds extends a short lease: a takeover fails at the end of the first lease, and
// succeeds at the end of the extended one.
func extendedHolds(ctx context.Context, s Subject) error {
	const short, extended = 60 * time.Millisecond, 200 * time.Millisecond
	k := key("m")
	if err := expectClaim(ctx, s, k, "t", short, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}); err != nil {
		return err
	}
	asked := time.Now()
	if err := s.Extend(ctx, k, "t", extended); err != nil {
		if errors.Is(err, dedupe.ErrFenced) {
			return fmt.Errorf("the lease was lost: %w", err)
		}
		return err
	}
	c, err := awaitClaim(ctx, s, k, "u", long)
	if err != nil {
		return err
	}
	if early := extended - time.Since(asked); early > 2*time.Millisecond {
		return fmt.Errorf("taken over %s before the extended lease was over", early)
	}
	return same("the takeover", c, dedupe.Claim{Status: dedupe.Claimed, Takeover: true, Attempt: 2})
}

// repeated sends every step twice, like a client that loses the answers.
func repeated(ctx context.Context, s Subject) error {
	k, claimed := key("m"), dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}
	second := dedupe.Claim{Status: dedupe.Claimed, Attempt: 2}
	return errors.Join(
		expectClaim(ctx, s, k, "t", long, claimed),
		expectClaim(ctx, s, k, "t", long, claimed),
		expectExtend(ctx, s, k, "t", nil),
		expectExtend(ctx, s, k, "t", nil),
		s.Release(ctx, k, "t"),
		s.Release(ctx, k, "t"),
		expectClaim(ctx, s, k, "u", long, second),
		expectClaim(ctx, s, k, "u", long, second),
		s.Release(ctx, k, "t"), // a late copy of the release
		expectClaim(ctx, s, k, "u", long, second),
		expectComplete(ctx, s, k, "u", "r", dedupe.Completed),
		expectComplete(ctx, s, k, "u", "r", dedupe.Completed),
		expectClaim(ctx, s, k, "v", long, dedupe.Claim{Status: dedupe.Done, Attempt: 2, Result: []byte("r")}),
	)
}

func released(ctx context.Context, s Subject) error {
	k := key("m")
	var errs []error
	for attempt := 1; attempt <= 5; attempt++ {
		token := fmt.Sprint("t", attempt)
		errs = append(errs,
			expectClaim(ctx, s, k, token, long, dedupe.Claim{Status: dedupe.Claimed, Attempt: attempt}),
			s.Release(ctx, k, token))
	}
	return errors.Join(errs...)
}

func lateAndResurrected(ctx context.Context, s Subject) error {
	late, gone := key("late"), key("gone")
	return errors.Join(
		expectClaim(ctx, s, late, "t", long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}),
		s.Release(ctx, late, "t"),
		expectComplete(ctx, s, late, "t", "r", dedupe.Late),
		expectClaim(ctx, s, late, "u", long, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("r")}),
		expectClaim(ctx, s, gone, "t", long, dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}),
		s.Lose(ctx, gone),
		expectComplete(ctx, s, gone, "t", "r", dedupe.Resurrected),
		expectClaim(ctx, s, gone, "u", long, dedupe.Claim{Status: dedupe.Done, Attempt: 1, Result: []byte("r")}),
	)
}

// lost loses records in every state: the message can be claimed again.
func lost(ctx context.Context, s Subject) error {
	first := dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}
	k := key("m")
	return errors.Join(
		expectClaim(ctx, s, k, "a", long, first),
		s.Lose(ctx, k),
		expectExtend(ctx, s, k, "a", dedupe.ErrFenced),
		expectClaim(ctx, s, k, "b", long, first),
		expectComplete(ctx, s, k, "b", "", dedupe.Completed),
		s.Lose(ctx, k),
		expectClaim(ctx, s, k, "c", long, first),
		s.Release(ctx, k, "c"),
		s.Lose(ctx, k),
		expectClaim(ctx, s, k, "d", long, first),
	)
}

func fingerprints(ctx context.Context, s Subject) error {
	k := key("m")
	ask := func(token, fingerprint string, want dedupe.Status) error {
		c, err := s.Claim(ctx, k, dedupe.Request{Token: token, Lease: long, Fingerprint: fingerprint})
		if err != nil || c.Status != want {
			return fmt.Errorf("claim by %s with fingerprint %q: got %s, %w, want %s", token, fingerprint, c.Status, orNone(err), want)
		}
		return nil
	}
	odd := "not | of \n the alphabet é"
	return errors.Join(
		ask("t", odd, dedupe.Claimed),
		ask("t", odd, dedupe.Claimed),
		ask("u", odd, dedupe.Busy),
		ask("u", "another", dedupe.Mismatch),
		ask("u", "", dedupe.Busy),
		expectComplete(ctx, s, k, "t", "r", dedupe.Completed),
		ask("u", "another", dedupe.Mismatch),
		ask("u", odd, dedupe.Done),
		ask("u", "", dedupe.Done),
	)
}
