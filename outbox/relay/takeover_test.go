package relay_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
)

// TestO6_NextLeaderKnowsWhatIsHeld: who takes a lease over learns which keys are
// parked before it sends anything.
func TestO6_NextLeaderKnowsWhatIsHeld(t *testing.T) {
	t.Parallel()
	inLab(t, relay.Config{}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
		l.refuse("k1", outbox.FailurePermanent)
		l.put("t", "k", "k1", "k2")
		stop := lead(t, r)
		elapse(t, time.Second)
		stop()
		require.Equal(t, []string{"k1", "k2"}, l.parked())

		l.put("t", "k", "k3")
		l.put("t", "l", "l1")
		next, err := relay.New(l.source(), l, relay.Config{})
		require.NoError(t, err)
		stop = lead(t, next)
		elapse(t, time.Minute)
		require.Equal(t, []string{"l1"}, l.sent(), "not k3, behind a key that is parked")
		require.Equal(t, []string{"k1", "k2", "k3"}, l.parked())
		stop()
	})
}
