package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

// leaseStep is one step on a store of leases: time passes, then a call is made.
type leaseStep struct {
	After time.Duration
	Call  string
	Key   string
	Token string
}

func leaseSteps() *rapid.Generator[[]leaseStep] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) leaseStep {
		return leaseStep{
			After: time.Duration(rapid.IntRange(0, 60).Draw(t, "after")) * time.Millisecond,
			Call:  rapid.SampledFrom([]string{"claim", "extend", "complete", "release", "forget"}).Draw(t, "call"),
			Key:   strconv.Itoa(rapid.IntRange(0, 1).Draw(t, "key")),
			Token: strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "token")),
		}
	}), 1, 40)
}

// leaseModel is the expected state of one record. The zero model is an absent record.
type leaseModel struct {
	token    string
	until    time.Time
	attempt  int
	open     bool // somebody has claimed it and neither released nor completed it
	released bool
	done     bool
}

// answer returns the expected answer to a call, as text, and the record after the call.
func (m leaseModel) answer(s leaseStep, now time.Time, lease time.Duration) (string, leaseModel) {
	held := m.open && now.Before(m.until)
	switch s.Call {
	case "claim":
		switch {
		case m.done:
			return "done", m
		case held && m.token != s.Token:
			return "busy", m
		case held:
			return "claimed " + strconv.Itoa(m.attempt), m
		}
		next := leaseModel{token: s.Token, until: now.Add(lease), attempt: m.attempt + 1, open: true}
		return "claimed " + strconv.Itoa(next.attempt), next
	case "extend":
		if !m.open || m.token != s.Token {
			return "fenced", m
		}
		m.until = now.Add(lease)
		return "extended", m
	case "complete":
		return m.complete(s.Token)
	case "release":
		if m.open && m.token == s.Token {
			m.open, m.released = false, true
		}
		return "released", m
	default:
		return "forgotten", leaseModel{}
	}
}

func (m leaseModel) complete(token string) (string, leaseModel) {
	answer := "completed"
	switch {
	case m.done && m.token == token:
		return answer, m
	case m.done:
		return "fenced_done", m
	case m.released:
		answer = "late"
	case !m.open:
		answer = "resurrected"
	case m.token != token:
		return "fenced", m
	}
	return answer, leaseModel{token: token, attempt: max(m.attempt, 1), done: true}
}

// ask makes the call of a step and returns the answer as text.
func ask(ctx context.Context, store dedupe.Store, forget func(dedupe.Key), s leaseStep, lease time.Duration) (string, error) {
	key := dedupe.Key{Consumer: "c", ID: s.Key}
	switch s.Call {
	case "claim":
		c, err := store.Claim(ctx, key, dedupe.Request{Token: s.Token, Lease: lease})
		if c.Status == dedupe.Claimed {
			return "claimed " + strconv.Itoa(c.Attempt), err
		}
		return c.Status.String(), err
	case "extend":
		err := store.Extend(ctx, key, s.Token, lease)
		if errors.Is(err, dedupe.ErrFenced) {
			return "fenced", nil
		}
		return "extended", err
	case "complete":
		c, err := store.Complete(ctx, key, s.Token, nil)
		return c.String(), err
	case "release":
		return "released", store.Release(ctx, key, s.Token)
	default:
		forget(key)
		return "forgotten", nil
	}
}

// follow runs steps on a store in virtual time and compares each answer with the
// model's.
func follow(t *testing.T, steps []leaseStep, wrap func(dedupe.Store) dedupe.Store) (err error) {
	t.Helper()
	const lease = 50 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		store, serr := memdedupe.New(memdedupe.Config{})
		if serr != nil {
			err = serr
			return
		}
		models := make(map[string]leaseModel)
		for i, s := range steps {
			<-time.After(s.After)
			var want string
			want, models[s.Key] = models[s.Key].answer(s, time.Now(), lease)
			got, serr := ask(t.Context(), wrap(store), store.Forget, s, lease)
			if serr != nil || got != want {
				err = fmt.Errorf("step %d, %+v: answered %q and %w, want %q", i, s, got, serr, want)
				return
			}
		}
	})
	return err
}

// TestLeasesFollowTheModel compares the store in memory with a model of D1 to D5, step
// by step.
func TestLeasesFollowTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		steps := leaseSteps().Draw(rt, "steps")
		if err := follow(t, steps, func(s dedupe.Store) dedupe.Store { return s }); err != nil {
			rt.Fatal(err)
		}
	})
}

// forgetfulStore ignores tokens when a run is completed.
type forgetfulStore struct{ dedupe.Store }

func (s forgetfulStore) Complete(ctx context.Context, key dedupe.Key, token string, result []byte) (dedupe.Completion, error) {
	c, err := s.Store.Complete(ctx, key, token, result)
	if c == dedupe.Fenced {
		return dedupe.Completed, err
	}
	return c, err
}

// TestLeasesFollowTheModel_Control: the model notices a store that does not compare tokens.
func TestLeasesFollowTheModel_Control(t *testing.T) {
	t.Parallel()
	for seed := range 200 {
		steps := leaseSteps().Example(seed)
		if follow(t, steps, func(s dedupe.Store) dedupe.Store { return forgetfulStore{s} }) != nil {
			return
		}
	}
	require.Fail(t, "not noticed")
}
