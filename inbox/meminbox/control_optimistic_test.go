package meminbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/inboxtest"
)

// optimisticStore has copies of a message run at the same time: who comes later to the commit
// is told.
type optimisticStore struct {
	*controlStore

	// committing is held from the look to the commit.
	committing *sync.Mutex
	// lost is what the loser does; nil for the unbroken thing.
	lost func(commit func()) error
}

func (s optimisticStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	if s.store.Recorded(s.consumer, id) {
		return nil, driver.Duplicate, nil
	}
	return optimisticUnit{&unit{store: s.store, row: newRow(s.consumer, id), tx: &transaction{}}, s, id}, driver.Claimed, nil
}

type optimisticUnit struct {
	*unit

	s  optimisticStore
	id string
}

func (u optimisticUnit) Commit(context.Context) error {
	u.s.committing.Lock()
	defer u.s.committing.Unlock()
	commit := func() { u.store.commit(u.row, u.tx.all()) }
	if !u.store.Recorded(u.s.consumer, u.id) {
		commit()
		return nil
	}
	if u.s.lost != nil {
		return u.s.lost(commit)
	}
	return driver.ErrDuplicate
}

func (optimisticUnit) Rollback(context.Context) error { return nil }

// newOptimistic returns a subject whose losers do what lost says.
func newOptimistic(lost func(commit func()) error) *control {
	c := newControl()
	committing := &sync.Mutex{}
	c.store = func(s *controlStore) driver.Store { return optimisticStore{s, committing, lost} }
	return c
}

// optimisticChecks are those of Run, without what the twin lacks.
func optimisticChecks() []inboxtest.Check {
	return inboxtest.Checks(inboxtest.Features{
		Optimistic: true, NoBreakCommit: true, NoForget: true, NoSharedLocks: true, NoFailures: true, NoBatches: true, NoAudit: true, NoMarks: true,
	})
}

// TestOptimistic: an inbox whose copies meet at the commit passes what is asked of it.
func TestOptimistic(t *testing.T) {
	t.Parallel()
	for _, check := range optimisticChecks() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { require.NoError(t, check.Run(t.Context(), newOptimistic(nil))) })
		})
	}
}

// TestNegativeControls_Optimistic: a loser that commits all the same, or that fails, is found.
func TestNegativeControls_Optimistic(t *testing.T) {
	t.Parallel()
	for complaint, lost := range map[string]func(commit func()) error{
		"outcome committed, error none; want duplicate": func(commit func()) error { commit(); return nil },
		"outcome failed": func(func()) error { return errors.Join(driver.ErrNotCommitted, errors.New("refused")) },
	} {
		found := false
		for _, check := range optimisticChecks() {
			if check.Name == "I5_LoserAtTheCommitIsADuplicate" {
				found = true
				require.ErrorContains(t, check.Run(t.Context(), newOptimistic(lost)), complaint)
			}
		}
		require.True(t, found)
	}
}
