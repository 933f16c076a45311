package dedupetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

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

// variant is a forbidden store and the checks that must notice.
type variant struct {
	broken forbidden
	caught []string
}

// done asks, as nobody may, and reports whether key is done.
func done(ctx context.Context, s *memdedupe.Store, key dedupe.Key) bool {
	c, err := s.Complete(ctx, key, "nobody's token", nil)
	return err == nil && c == dedupe.FencedDone
}

func variants() map[string]variant {
	return map[string]variant{
		"none": {},
		"mark before the handler, as SETNX does": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				c, err := s.Claim(ctx, key, req)
				if err == nil && c.Status == dedupe.Claimed {
					_, err = s.Complete(ctx, key, req.Token, nil)
				}
				return c, err
			},
		}, []string{"D6_NoAckWithoutACompletedRun", "D6_ReleasedRunsAgain"}},
		"complete without a look at the token": {forbidden{
			complete: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
				c, err := s.Complete(ctx, key, token, result)
				if c == dedupe.Fenced {
					s.Forget(key)
					_, err = s.Complete(ctx, key, token, result)
				}
				return dedupe.Completed, err
			},
		}, []string{"D2_OnlyTheHolder"}},
		"extend for anybody": {forbidden{
			extend: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, lease time.Duration) error {
				if err := s.Extend(ctx, key, token, lease); !errors.Is(err, dedupe.ErrFenced) {
					return err
				}
				return nil
			},
		}, []string{"D2_OnlyTheHolder"}},
		"release what is another's": {forbidden{
			release: func(_ context.Context, s *memdedupe.Store, key dedupe.Key, _ string) error {
				s.Forget(key)
				return nil
			},
		}, []string{"D2_OnlyTheHolder", "D3_DoneIsTerminal"}},
		"two tokens at once": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				c, err := s.Claim(ctx, key, req)
				if c.Status == dedupe.Busy {
					c.Status = dedupe.Claimed
				}
				return c, err
			},
		}, []string{"D1_OneOfManyClaimersGetsIt"}},
		"keys that run together": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				return s.Claim(ctx, dedupe.Key{ID: key.Consumer + ":" + key.ID}, req)
			},
		}, []string{"D1_KeysAreApart"}},
		"a lease that ends early": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				req.Lease /= 4
				return s.Claim(ctx, key, req)
			},
		}, []string{"D4_TakeoverOnlyAfterTheLease", "D7_CancelledBeforeTakeover"}},
		"extends that are not written": {forbidden{
			extend: func(context.Context, *memdedupe.Store, dedupe.Key, string, time.Duration) error { return nil },
		}, []string{"D4_AnExtendedLeaseHolds"}},
		"a second claim of the token is busy": {forbidden{
			claim: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, req dedupe.Request) (dedupe.Claim, error) {
				req.Token += time.Now().String()
				return s.Claim(ctx, key, req)
			},
		}, []string{"D5_EveryStepCanBeRepeated", "D5_AgreesWithTheModel"}},
		"what is lost is taken for done": {forbidden{
			extend: func(ctx context.Context, s *memdedupe.Store, key dedupe.Key, token string, lease time.Duration) error {
				err := s.Extend(ctx, key, token, lease)
				if errors.Is(err, dedupe.ErrFenced) && !done(ctx, s, key) {
					_, err = s.Complete(ctx, key, token, nil)
				}
				return err
			},
		}, []string{"D8_LosingTheRecordCostsOnlyARepeat"}},
	}
}

// TestForbiddenStores: every broken rule is noticed by the checks that are named
// after it, and the store that breaks none passes them all.
func TestForbiddenStores(t *testing.T) {
	t.Parallel()
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, c := range dedupetest.Checks() {
				must := false
				for _, caught := range v.caught {
					must = must || caught == c.Name
				}
				if !must && len(v.caught) > 0 {
					continue
				}
				store, err := memdedupe.New(memdedupe.Config{})
				require.NoError(t, err)
				broken := v.broken
				broken.Store = store
				if err := c.Run(t.Context(), broken); must {
					require.Error(t, err, c.Name)
					found++
				} else {
					require.NoError(t, err, c.Name)
				}
			}
			require.Len(t, v.caught, found)
		})
	}
}
