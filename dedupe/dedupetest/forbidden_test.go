package dedupetest_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

//leat:level 0
func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}

// forbidden is a store that breaks one rule; nil means that it keeps it.
type forbidden struct {
	*memdedupe.Store

	claim    func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error)
	extend   func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, lease time.Duration) error
	complete func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, result []byte) (dedupe.Completion, error)
	release  func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string) error
}

func (f forbidden) Claim(ctx context.Context, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
	if f.claim != nil {
		return f.claim(ctx, f.Store, key, req)
	}
	return f.Store.Claim(ctx, key, req)
}

func (f forbidden) Extend(ctx context.Context, key dedupe.Key, token string, lease time.Duration) error {
	if f.extend != nil {
		return f.extend(ctx, f.Store, key, token, lease)
	}
	return f.Store.Extend(ctx, key, token, lease)
}

func (f forbidden) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	if f.complete != nil {
		return f.complete(ctx, f.Store, key, token, result)
	}
	return f.Store.Complete(ctx, key, token, result)
}

func (f forbidden) Release(ctx context.Context, key dedupe.Key, token string) error {
	if f.release != nil {
		return f.release(ctx, f.Store, key, token)
	}
	return f.Store.Release(ctx, key, token)
}

func (f forbidden) Lose(_ context.Context, key dedupe.Key) error {
	f.Forget(key)
	return nil
}

// variant is a forbidden store, and what must come of it: by the name of a check, words of
// its complaint.
type variant struct {
	broken forbidden
	caught map[string]string
}

// done asks, as nobody may, and reports whether key is done.
func done(ctx context.Context, s *memdedupe.Store, key dedupe.Key) bool {
	c, err := s.Complete(ctx, key, "nobody's token", nil)
	return err == nil && c == dedupe.FencedDone
}

func variants() map[string]variant {
	all := map[string]variant{"none": {}}
	maps.Copy(all, brokenSteps())
	maps.Copy(all, brokenRecords())
	return all
}

// brokenSteps are steps that the wrong one takes, or that are not taken.
func brokenSteps() map[string]variant {
	return map[string]variant{
		"mark before the handler, as SETNX does": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				c, err := s.Claim(ctx, key, req)
				if err == nil && c.Status == dedupe.Claimed {
					_, err = s.Complete(ctx, key, req.Token, nil)
				}
				return c, err
			},
		}, map[string]string{
			"D6_NoAckWithoutACompletedRun": "delivery of claim",
			"D6_ReleasedRunsAgain":         "claim of {c m} by t2: got {Status:done",
		}},
		"complete without a look at the token": {forbidden{
			complete: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
				c, err := s.Complete(ctx, key, token, result)
				if c == dedupe.Fenced {
					s.Forget(key)
					_, err = s.Complete(ctx, key, token, result)
				}
				return dedupe.Completed, err
			},
		}, map[string]string{
			"D2_OnlyTheHolder": "complete of {c m} by other: got completed",
		}},
		"extend for anybody": {forbidden{
			extend: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, lease time.Duration) error {
				if err := s.Extend(ctx, key, token, lease); !errors.Is(err, dedupe.ErrFenced) {
					return err
				}
				return nil
			},
		}, map[string]string{
			"D2_OnlyTheHolder": "extend of {c m} by other: got no error",
		}},
		"release what is another's": {forbidden{
			release: func(_ context.Context, s *memdedupe.Store, key dedupe.Key, _ string) error {
				s.Forget(key)
				return nil
			},
		}, map[string]string{
			"D2_OnlyTheHolder":  "claim of {c m} by other: got {Status:claimed",
			"D3_DoneIsTerminal": "complete of {c m} by u: got resurrected, want fenced_done",
		}},
		"two tokens at once": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				c, err := s.Claim(ctx, key, req)
				if c.Status == dedupe.Busy {
					c.Status = dedupe.Claimed
				}
				return c, err
			},
		}, map[string]string{
			"D1_OneOfManyClaimersGetsIt": "claimers got it",
		}},
		"results are forgotten": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				c, err := s.Claim(ctx, key, req)
				if c.Status == dedupe.Done {
					s.Forget(key)
					c, err = s.Claim(ctx, key, req)
				}
				return c, err
			},
		}, map[string]string{
			"D3_OtherIDsAreRefused": "error no error, want",
		}},
	}
}

// brokenRecords remember something else than what they were told.
func brokenRecords() map[string]variant {
	return map[string]variant{
		"keys that run together": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				return s.Claim(ctx, dedupe.Key{ID: key.Consumer + ":" + key.ID}, req)
			},
		}, map[string]string{
			"D1_KeysAreApart": "claim of {a:b c} by t1: got {Status:busy",
		}},
		"a lease that ends early": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				req.Lease /= 4
				return s.Claim(ctx, key, req)
			},
		}, map[string]string{
			"D4_TakeoverOnlyAfterTheLease": "before the lease was over",
			"D7_CancelledBeforeTakeover":   "another claim of it answered claimed",
		}},
		"extends that are not written": {forbidden{
			extend: func(context.Context, *memdedupe.Store, dedupe.Key, string, time.Duration) error { return nil },
		}, map[string]string{
			"D4_AnExtendedLeaseHolds": "before the extended lease was over",
		}},
		"a second claim of the token is busy": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				req.Token += time.Now().String()
				return s.Claim(ctx, key, req)
			},
		}, map[string]string{
			"D5_EveryStepCanBeRepeated": "claim of {c m} by t: got {Status:busy",
			"D5_AgreesWithTheModel":     "complete of {c m0} by t0: got fenced, want late",
		}},
		"what is lost is taken for done": {forbidden{
			extend: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, lease time.Duration) error {
				err := s.Extend(ctx, key, token, lease)
				if errors.Is(err, dedupe.ErrFenced) && !done(ctx, s, key) {
					_, err = s.Complete(ctx, key, token, nil)
				}
				return err
			},
		}, map[string]string{
			"D8_LosingTheRecordCostsOnlyARepeat": "claim of {c m} by b: got {Status:done",
		}},
		"results are texts": {forbidden{
			complete: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
				return s.Complete(ctx, key, token, bytes.TrimSpace(result))
			},
		}, map[string]string{
			"D3_ResultsAreBytes": `result "\n": claim of {c m1} by u`,
		}},
		"nothing is completed without a lease": {forbidden{
			complete: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
				if err := s.Extend(ctx, key, token, time.Minute); errors.Is(err, dedupe.ErrFenced) && !done(ctx, s, key) {
					s.Forget(key)
					return dedupe.Fenced, nil
				}
				return s.Complete(ctx, key, token, result)
			},
		}, map[string]string{
			"D6_LateAndResurrected":           "complete of {c late} by t: got fenced, want late",
			"D8_LosingTheRecordUnderAHandler": "delivery of m",
		}},
		"fingerprints are not compared": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				req.Fingerprint = ""
				return s.Claim(ctx, key, req)
			},
		}, map[string]string{
			"Fingerprints": "got busy, no error, want mismatch",
		}},
	}
}

// TestForbiddenStores: every broken rule is noticed by the checks that are named
// after it, and the store that breaks none passes them all.
func TestForbiddenStores(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range dedupetest.Checks() {
				complaint, must := v.caught[c.Name]
				if !must && len(v.caught) > 0 {
					continue
				}
				store, err := memdedupe.New(memdedupe.Config{})
				require.NoError(t, err)
				broken := v.broken
				broken.Store = store
				if err := c.Run(t.Context(), broken); must {
					require.ErrorContains(t, err, complaint)
				} else {
					require.NoError(t, err, c.Name)
				}
			}
		})
	}
}

// TestEveryCheckHasAControl: each check of the suite has been seen to find a broken store.
func TestEveryCheckHasAControl(t *testing.T) {
	t.Parallel()
	var caught, all []string
	for _, v := range variants() {
		caught = slices.AppendSeq(caught, maps.Keys(v.caught))
	}
	for _, c := range dedupetest.Checks() {
		all = append(all, c.Name)
	}
	require.ElementsMatch(t, all, slices.Compact(slices.Sorted(slices.Values(caught))),
		"checks that nothing has shown to find what they are for, or that do not exist")
}
