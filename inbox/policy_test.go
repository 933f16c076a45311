package inbox_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/outbox"
)

// noOutbox is an outbox that refuses everything.
type noOutbox struct{}

func (noOutbox) EnqueueContext(context.Context, ...outbox.Message) error { return errFake }
func (noOutbox) Wake()                                                   {}

func TestNewRefusesBadPolicies(t *testing.T) {
	t.Parallel()
	handle := func(context.Context, inbox.Failure) error { return nil }
	tests := map[string]struct {
		cfg  inbox.Config
		want string
	}{
		"action":              {inbox.Config{OnFailure: inbox.Policy{Action: 9}}, "OnFailure.Action = Action(9)"},
		"attempts":            {inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Attempts: -1}}, "OnFailure.Attempts = -1: must be 1 to 1000000"},
		"attempts of block":   {inbox.Config{OnFailure: inbox.Policy{Attempts: 3}}, "has no meaning where Action is block"},
		"delay":               {inbox.Config{OnFailure: inbox.Policy{Delay: -2}}, "OnFailure.Delay = -2ns"},
		"max delay":           {inbox.Config{OnFailure: inbox.Policy{Delay: 2, MaxDelay: 1}}, "OnFailure.MaxDelay = 1ns"},
		"no topic":            {inbox.Config{OnFailure: inbox.Policy{Action: inbox.DeadLetter, Outbox: noOutbox{}}}, "OnFailure.Topic"},
		"no outbox":           {inbox.Config{OnFailure: inbox.Policy{Action: inbox.DeadLetter, Topic: "dead"}}, "OnFailure.Outbox"},
		"topic for park":      {inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park, Topic: "dead"}}, "is for Action dead_letter, but Action is park"},
		"no handle":           {inbox.Config{OnFailure: inbox.Policy{Action: inbox.Custom}}, "goes with Action custom"},
		"handle for block":    {inbox.Config{OnFailure: inbox.Policy{Handle: handle}}, "but Action is block"},
		"no id with block":    {inbox.Config{GiveUpWithoutID: true}, "OnFailure.Action = block gives nothing up"},
		"conflict retries":    {inbox.Config{ConflictRetries: -2}, "ConflictRetries = -2"},
		"conflict delay":      {inbox.Config{ConflictDelay: -1}, "ConflictDelay = -1ns"},
		"redrive poll":        {inbox.Config{RedrivePoll: 1}, "RedrivePoll = 1ns"},
		"store cannot park":   {inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}, "OnFailure.Action = park: needs a store that counts attempts, and *inbox_test.fakeStore does not"},
		"store cannot count":  {inbox.Config{OnFailure: inbox.Policy{Action: inbox.Custom, Handle: handle}}, "needs a store that counts attempts"},
		"store keeps nothing": {inbox.Config{KeepReplies: true}, "need a store that keeps notes, and *inbox_test.fakeStore does not"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := inbox.New(&fakeStore{}, "c", tt.cfg)
			require.ErrorIs(t, err, outbox.ErrInvalidConfig)
			require.ErrorContains(t, err, tt.want)
		})
	}
	p := newProcessor(t, &fakeStore{}, inbox.Config{})
	require.ErrorIs(t, p.RunRedrive(t.Context(), nil), outbox.ErrInvalidConfig)
}

func TestPermanent(t *testing.T) {
	t.Parallel()
	require.NoError(t, inbox.Permanent(nil))
	err := inbox.Permanent(errFake)
	require.ErrorIs(t, err, errFake)
	require.EqualError(t, err, errFake.Error())
	require.True(t, inbox.IsPermanent(errors.Join(errAny, err)))
	require.False(t, inbox.IsPermanent(errFake))
}

func TestActionNames(t *testing.T) {
	t.Parallel()
	for want, name := range []string{"block", "park", "dead_letter", "custom", "Action(4)"} {
		require.Equal(t, name, inbox.Action(want).String())
	}
}

// TestDelayGrowsWithTheAttempts waits longer after each attempt that is counted,
// and alike where none is.
func TestDelayGrowsWithTheAttempts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		policy inbox.Policy
		want   []int // seconds
	}{
		"block": {inbox.Policy{Delay: time.Second}, []int{1, 1, 1, 1}},
		"park":  {inbox.Policy{Action: inbox.Park, Attempts: 9, Delay: time.Second, MaxDelay: 3 * time.Second}, []int{1, 2, 3, 3}},
		"none":  {inbox.Policy{Delay: inbox.NoDelay}, []int{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, err := meminbox.New("c", meminbox.Config{Config: inbox.Config{OnFailure: tt.policy}})
				require.NoError(t, err)
				for _, want := range tt.want {
					start := time.Now()
					_, err := in.Process(t.Context(), message.NewMessage("a", nil), fail)
					require.ErrorIs(t, err, errFake)
					require.InDelta(t, float64(want), time.Since(start).Seconds(), float64(want)/4)
				}
			})
		})
	}
}

// refusingStore refuses one message by itself.
type refusingStore struct{ driver.Parker }

func (s refusingStore) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	if id == "old" {
		return nil, 0, driver.ErrTooOld
	}
	return s.Parker.Claim(ctx, id)
}

// storeOf gives the store of an inbox away.
func storeOf(t *testing.T) (store *meminbox.Store, of func(consumer string) driver.Parker) {
	t.Helper()
	store = &meminbox.Store{}
	return store, func(consumer string) driver.Parker { return store.Consumer(consumer) }
}

// TestI7_RefusedMessageIsParked: what a store refuses by itself is neither run nor
// lost, and parked once.
func TestI7_RefusedMessageIsParked(t *testing.T) {
	t.Parallel()
	store, of := storeOf(t)
	p := newProcessor(t, refusingStore{of("tester")}, inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}})
	for _, want := range []inbox.Outcome{inbox.OutcomeParked, inbox.OutcomeDuplicate} {
		outcome, err := p.Process(t.Context(), message.NewMessage("old", nil), fail)
		require.NoError(t, err)
		require.Equal(t, want, outcome)
	}
	parked, err := meminbox.NewAdmin(store).Parked(t.Context(), admin.ParkedQuery{})
	require.NoError(t, err)
	require.Len(t, parked, 1)
	require.Equal(t, "old", parked[0].ID)
}
