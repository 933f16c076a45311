package inbox_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/meminbox"
)

// slowClaims is a store whose claims take a while, as where all connections of a pool are in use.
type slowClaims struct {
	driver.Parker

	take time.Duration
}

func (s slowClaims) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	time.Sleep(s.take)
	return s.Parker.Claim(ctx, id)
}

// TestI4_AttemptsOfTwoDeliveries: two deliveries of a message count an attempt each before one of them
// claims it. Neither gives up a message that has not failed as often as it may.
func TestI4_AttemptsOfTwoDeliveries(t *testing.T) {
	t.Parallel()
	given := func(context.Context, inbox.Failure) error { return nil }
	for name, tt := range map[string]struct {
		policy        inbox.Policy
		slow          [2]time.Duration // claims of the first delivery, and of the second
		handle        func(ctx context.Context) error
		first, second inbox.Outcome
		parked        int
	}{
		"park": {
			inbox.Policy{Action: inbox.Park, Attempts: 1},
			[2]time.Duration{500 * time.Millisecond},
			succeed, inbox.OutcomeCommitted, inbox.OutcomeDuplicate, 0,
		},
		"custom": {
			inbox.Policy{Action: inbox.Custom, Handle: given, Attempts: 1},
			[2]time.Duration{500 * time.Millisecond},
			succeed, inbox.OutcomeCommitted, inbox.OutcomeDuplicate, 0,
		},
		"one fails": {
			inbox.Policy{Action: inbox.Park, Attempts: 1},
			[2]time.Duration{500 * time.Millisecond},
			fail, inbox.OutcomeParked, inbox.OutcomeDuplicate, 1,
		},
		"both fail": {
			inbox.Policy{Action: inbox.Park, Attempts: 2},
			[2]time.Duration{100 * time.Millisecond, 300 * time.Millisecond},
			fail, inbox.OutcomeFailed, inbox.OutcomeParked, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, of := storeOf(t)
				deliver := func(take time.Duration) inbox.Outcome {
					p := newProcessor(t, slowClaims{of("tester"), take}, inbox.Config{OnFailure: tt.policy})
					outcome, _ := p.Process(t.Context(), message.NewMessage("a", nil), tt.handle)
					return outcome
				}
				first := make(chan inbox.Outcome, 1)
				go func() { first <- deliver(tt.slow[0]) }()
				synctest.Wait()
				second := deliver(tt.slow[1])
				require.Equal(t, []inbox.Outcome{tt.first, tt.second}, []inbox.Outcome{<-first, second})
				parked, err := meminbox.NewAdmin(store).Parked(t.Context(), admin.ParkedQuery{})
				require.NoError(t, err)
				require.Len(t, parked, tt.parked)
				for _, p := range parked {
					require.Equal(t, tt.policy.Attempts, p.History.Attempts)
					require.Len(t, p.History.Errors, tt.policy.Attempts)
				}
			})
		})
	}
}
