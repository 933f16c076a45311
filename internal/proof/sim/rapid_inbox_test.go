package sim_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
)

// inboxStep is one step of several concurrent deliveries. Each lane has one delivery at a time.
type inboxStep struct {
	Lane int
	Call string
	ID   string // of claim
}

const inboxLanes = 3

func inboxSteps() *rapid.Generator[[]inboxStep] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) inboxStep {
		return inboxStep{
			Lane: rapid.IntRange(0, inboxLanes-1).Draw(t, "lane"),
			Call: rapid.SampledFrom([]string{"claim", "claim", "commit", "rollback"}).Draw(t, "call"),
			ID:   "id-" + strconv.Itoa(rapid.IntRange(0, 2).Draw(t, "id")),
		}
	}), 1, 60)
}

// inboxRun runs steps on a store and tracks the expected state.
type inboxRun struct {
	store     driver.Store
	units     [inboxLanes]driver.Unit
	ids       [inboxLanes]string
	effects   map[string]int // that were committed, by id
	committed map[string]bool
}

func (r *inboxRun) step(ctx context.Context, s inboxStep) error {
	u := r.units[s.Lane]
	switch {
	case s.Call == "claim" && u == nil:
		return r.claim(ctx, s)
	case s.Call == "commit" && u != nil:
		r.units[s.Lane] = nil
		r.committed[r.ids[s.Lane]] = true
		return u.Commit(ctx)
	case s.Call == "rollback" && u != nil:
		r.units[s.Lane] = nil
		return u.Rollback(ctx)
	}
	return nil
}

func (r *inboxRun) claim(ctx context.Context, s inboxStep) error {
	want := driver.Claimed
	for lane, u := range r.units {
		if u != nil && r.ids[lane] == s.ID {
			want = driver.Busy
		}
	}
	if r.committed[s.ID] {
		want = driver.Duplicate
	}
	u, got, err := r.store.Claim(ctx, s.ID)
	if err != nil || got != want || (u != nil) != (want == driver.Claimed) {
		return fmt.Errorf("%+v: answered %s and %w, want %s", s, got, err, want)
	}
	if u != nil {
		r.units[s.Lane], r.ids[s.Lane] = u, s.ID
		meminbox.OnCommit(u.Context(ctx), func() { r.effects[s.ID]++ })
	}
	return nil
}

// runInbox runs steps and checks that each committed id has taken effect exactly once.
func runInbox(ctx context.Context, steps []inboxStep, wrap func(driver.Store) driver.Store) error {
	r := &inboxRun{store: wrap((&meminbox.Store{}).Consumer("c")), effects: map[string]int{}, committed: map[string]bool{}}
	for i, s := range steps {
		if err := r.step(ctx, s); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		for id, n := range r.effects {
			if n != 1 || !r.committed[id] {
				return fmt.Errorf("step %d: %s has taken effect %d times, committed %v", i, id, n, r.committed[id])
			}
		}
	}
	return nil
}

// TestInboxFollowsTheModel compares the inbox in memory with a model of I1 and I2, step
// by step.
func TestInboxFollowsTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		if err := runInbox(t.Context(), inboxSteps().Draw(rt, "steps"), func(s driver.Store) driver.Store { return s }); err != nil {
			rt.Fatal(err)
		}
	})
}

// hastyStore reports a message in progress as a duplicate.
type hastyStore struct{ driver.Store }

func (s hastyStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	u, status, err := s.Store.Claim(ctx, id)
	if status == driver.Busy {
		status = driver.Duplicate
	}
	return u, status, err
}

// TestInboxFollowsTheModel_Control: the model notices a store that acks messages in progress.
func TestInboxFollowsTheModel_Control(t *testing.T) {
	t.Parallel()
	for seed := range 200 {
		if runInbox(t.Context(), inboxSteps().Example(seed), func(s driver.Store) driver.Store { return hastyStore{s} }) != nil {
			return
		}
	}
	require.Fail(t, "not noticed")
}
