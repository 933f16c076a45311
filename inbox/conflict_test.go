package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

var errConflict = errors.New("conflict")

// conflictStore knows errConflict.
type conflictStore struct{ fakeStore }

func (*conflictStore) Conflict(err error) bool { return errors.Is(err, errConflict) }

func (*conflictStore) Outage(err error) bool { return errors.Is(err, errOutage) }

var errOutage = errors.New("outage")

// TestI4_TheStoreKnowsAnOutage marks what the handler and the commit return, and nothing else.
func TestI4_TheStoreKnowsAnOutage(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		handler, commit error
		poison          bool
	}{
		"handler":       {handler: fmt.Errorf("insert: %w", errOutage)},
		"commit":        {commit: fmt.Errorf("%w: %w", driver.ErrNotCommitted, errOutage)},
		"another error": {handler: errFake, poison: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &conflictStore{fakeStore{status: driver.Claimed, commitErr: tt.commit}}
			p := newProcessor(t, store, inbox.Config{OnFailure: inbox.Policy{Delay: inbox.NoDelay}})
			outcome, err := p.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return tt.handler })
			require.Equal(t, inbox.OutcomeFailed, outcome)
			require.Error(t, err)
			require.Equal(t, tt.poison, inbox.ShouldPoison(err))
			if tt.handler != nil {
				require.ErrorIs(t, err, tt.handler)
				require.Equal(t, tt.handler.Error(), err.Error(), "it is marked and not changed")
			}
		})
	}
	require.NoError(t, inbox.Outage(nil))
}

// TestI6_ConflictsAreRetriedAsAWhole calls the handler again in a new unit, as often
// as it may, and no other error.
func TestI6_ConflictsAreRetriedAsAWhole(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		store         conflictStore
		handlerErr    error
		conflicts     int // of the handler, before it succeeds
		retries, runs int
		want          inbox.Outcome
		wantErr       error
	}{
		"none":             {runs: 1, want: inbox.OutcomeCommitted},
		"twice":            {handlerErr: errConflict, conflicts: 2, runs: 3, want: inbox.OutcomeCommitted},
		"for ever":         {handlerErr: errConflict, conflicts: 99, retries: 3, runs: 4, wantErr: inbox.ErrConflict},
		"not wanted":       {handlerErr: errConflict, conflicts: 1, retries: -1, runs: 1, wantErr: inbox.ErrConflict},
		"another error":    {handlerErr: errFake, conflicts: 1, runs: 1, wantErr: errFake},
		"refused commit":   {store: conflictStore{fakeStore{commitErr: fmt.Errorf("%w: %w", driver.ErrNotCommitted, errConflict)}}, retries: 2, runs: 3, wantErr: inbox.ErrConflict},
		"ambiguous commit": {store: conflictStore{fakeStore{commitErr: errConflict}}, runs: 1, want: inbox.OutcomeUnknown, wantErr: inbox.ErrCommitUnknown},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.store.status = driver.Claimed
			p := newProcessor(t, &tt.store, inbox.Config{
				ConflictRetries: tt.retries, ConflictDelay: 1, OnFailure: inbox.Policy{Delay: inbox.NoDelay},
			})
			runs := 0
			outcome, err := p.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
				if runs++; runs <= tt.conflicts {
					return tt.handlerErr
				}
				return nil
			})
			require.Equal(t, tt.want, outcome)
			require.ErrorIs(t, err, tt.wantErr)
			require.Equal(t, tt.runs, runs)
			require.Len(t, tt.store.claimed, runs)
			require.Equal(t, runs, tt.store.commits+tt.store.rollbacks, "each unit is ended")
			require.Equal(t, errors.Is(err, errFake), inbox.ShouldPoison(err))
		})
	}
}
