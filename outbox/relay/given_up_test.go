package relay_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestGivenUpIsStoredBeforeTheKeyGoesOn_O5 gives up a record and fails to store that. By the next term the
// sink accepts the record. Nothing behind it was sent before.
func TestGivenUpIsStoredBeforeTheKeyGoesOn_O5(t *testing.T) {
	t.Parallel()
	for _, action := range []relay.Action{relay.DeadLetter, relay.Skip} {
		t.Run(action.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				l.put("t", "k", "k1", "k2")
				l.put("t", "l", "l1")
				l.refuse("k1", outbox.FailurePermanent)
				var points failpointtest.Registry
				require.NoError(t, points.EnableAt(failpoint.RelayAckedBeforeAdvance, 1, failpointtest.Call(func(context.Context) error {
					l.allow("k1")
					return errAway
				})))
				r, err := relay.New(l.source(), throughFunc(t, l), relay.Config{Policies: []relay.Policy{{Action: action}}})
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), &points))
				done := make(chan error, 1)
				go func() { done <- r.Run(ctx) }()
				elapse(t, time.Minute)
				cancel()
				require.NoError(t, <-done)
				got := l.sent()
				require.Less(t, indexOf(got, "k1"), indexOf(got, "k2"), "%v", got)
			})
		})
	}
}
