package dedupetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/wait"
)

const checkTimeout = time.Minute

// Subject is a store under test, used by one check only. It is empty, or holds only records that
// the check cannot meet.
type Subject interface {
	dedupe.Store

	// Lose removes the record of key, as an eviction or a flush would.
	Lose(ctx context.Context, key dedupe.Key) error
}

// check is one case of the suite.
type check struct {
	// Name starts with the invariant that the check is about.
	Name string

	run func(ctx context.Context, s Subject) error
}

// Run runs the check and returns what is wrong with s.
func (c check) Run(ctx context.Context, s Subject) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	if err := c.run(ctx, s); err != nil {
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}

// Run runs every check, in parallel, each on a new subject.
func Run(t *testing.T, newSubject func(t *testing.T) Subject) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			if err := c.Run(t.Context(), newSubject(t)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// checks returns the checks that Run runs.
func checks() []check {
	return []check{
		{"D1_OneOfManyClaimersGetsIt", oneOfMany},
		{"D1_KeysAreApart", keysAreApart},
		{"D2_OnlyTheHolder", onlyTheHolder},
		{"D3_DoneIsTerminal", doneIsTerminal},
		{"D3_ResultsAreBytes", resultsAreBytes},
		{"D3_OtherIDsAreRefused", otherIDsAreRefused},
		{"D4_TakeoverOnlyAfterTheLease", takeover},
		{"D4_AnExtendedLeaseHolds", extendedHolds},
		{"D5_EveryStepCanBeRepeated", repeated},
		{"D6_ReleasedRunsAgain", released},
		{"D6_LateAndResurrected", lateAndResurrected},
		{"D6_NoAckWithoutACompletedRun", noAckWithoutARun},
		{"D7_CancelledBeforeTakeover", cancelledBeforeTakeover},
		{"D8_LosingTheRecordCostsOnlyARepeat", lost},
		{"D8_LosingTheRecordUnderAHandler", lossCostsARepeat},
		{"Fingerprints", fingerprints},
		{"D5_AgreesWithTheModel", agreesWithModel},
	}
}

// long is a lease that does not end during a check.
const long = time.Minute

func key(id string) dedupe.Key {
	return dedupe.Key{Consumer: "c", ID: id}
}

func claim(ctx context.Context, s dedupe.Store, k dedupe.Key, token string, lease time.Duration) (dedupe.Claim, error) {
	c, err := s.Claim(ctx, k, dedupe.Request{Token: token, Lease: lease})
	if err != nil {
		return c, fmt.Errorf("claim of %v by %s: %w", k, token, err)
	}
	return c, nil
}

// expectClaim claims, and compares everything in the answer except the remaining time.
func expectClaim(ctx context.Context, s dedupe.Store, k dedupe.Key, token string, lease time.Duration, want dedupe.Claim) error {
	got, err := claim(ctx, s, k, token, lease)
	if err != nil {
		return err
	}
	got.Remaining = 0
	return same(fmt.Sprintf("claim of %v by %s", k, token), got, want)
}

func same(what string, got, want dedupe.Claim) error {
	if got.Status != want.Status || got.Takeover != want.Takeover || got.Attempt != want.Attempt ||
		string(got.Result) != string(want.Result) {
		return fmt.Errorf("%s: got %+v, want %+v", what, got, want)
	}
	return nil
}

func expectComplete(ctx context.Context, s dedupe.Store, k dedupe.Key, token, result string, want dedupe.Completion) error {
	got, err := s.Complete(ctx, k, token, []byte(result))
	if err != nil {
		return fmt.Errorf("complete of %v by %s: %w", k, token, err)
	}
	if got != want {
		return fmt.Errorf("complete of %v by %s: got %s, want %s", k, token, got, want)
	}
	return nil
}

func expectExtend(ctx context.Context, s dedupe.Store, k dedupe.Key, token string, want error) error {
	if err := s.Extend(ctx, k, token, long); !errors.Is(err, want) {
		return fmt.Errorf("extend of %v by %s: got %w, want %w", k, token, orNone(err), orNone(want))
	}
	return nil
}

var errNone = errors.New("no error")

func orNone(err error) error {
	if err == nil {
		return errNone
	}
	return err
}

// awaitClaim claims again until the answer is not Busy.
func awaitClaim(ctx context.Context, s dedupe.Store, k dedupe.Key, token string, lease time.Duration) (dedupe.Claim, error) {
	for {
		c, err := claim(ctx, s, k, token, lease)
		if err != nil || c.Status != dedupe.Busy {
			return c, err
		}
		if c.Remaining <= 0 || c.Remaining > long {
			return c, fmt.Errorf("claim of %v by %s: busy for another %s", k, token, c.Remaining)
		}
		if err := wait.For(ctx, min(c.Remaining, 2*time.Millisecond)); err != nil {
			return c, err
		}
	}
}
