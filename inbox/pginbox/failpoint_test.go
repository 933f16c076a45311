package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/testenv"
)

// consumerPoints are the points of a consumer, except that of a rebalance.
var consumerPoints = []failpoint.Name{
	failpoint.ConsumerAfterReceive, failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterTrylock,
	failpoint.ConsumerAfterClaim, failpoint.ConsumerPanic, failpoint.ConsumerMidHandler, failpoint.ConsumerBeforeCommit,
	failpoint.ConsumerCommitAmbiguous, failpoint.ConsumerAfterCommitBeforeAck, failpoint.ConsumerAckLost,
}

// victim is a consumer to which something happens once, at one point.
type victim struct {
	*subject

	p      inbox.Runner
	points *failpointtest.Registry
	cancel context.CancelFunc // of the delivery under way
	early  bool               // another worker has acked what was not committed
}

// kinds are what can happen.
func (v *victim) kinds() map[string]failpointtest.Action {
	return map[string]failpointtest.Action{
		"error": failpointtest.Error(nil),
		"panic": failpointtest.Panic(),
		"cancel": failpointtest.Call(func(context.Context) error {
			v.cancel()
			return nil
		}),
		"cut": failpointtest.Call(func(context.Context) error {
			_, err := v.env.Pool.Exec(context.Background(),
				`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1`, v.schema)
			return err
		}),
		"pause": failpointtest.Call(func(context.Context) error { // while the broker gives the message to another worker
			ctx := context.Background()
			if _, err := v.p.Process(ctx, message.NewMessage("a", nil), func(ctx context.Context) error { return v.Write(ctx, "a") }); err != nil {
				return nil //nolint:nilerr // it is busy
			}
			committed, err := v.Recorded(ctx, "victim", "a")
			parked, perr := v.Parked(ctx, "victim")
			v.early = v.early || !committed && len(parked) == 0
			return errors.Join(err, perr)
		}),
	}
}

// TestI1_FailurePoints lets everything happen everywhere, once: the message is
// delivered until it is acked, takes effect once, and is not taken for poison.
func TestI1_FailurePoints(t *testing.T) {
	t.Parallel()
	atEveryPoint(t, newSubject)
}

// TestI1_FailurePoints_SQL does the same on database/sql.
//
//leat:level 2
func TestI1_FailurePoints_SQL(t *testing.T) {
	t.Parallel()
	atEveryPoint(t, newSQLSubject)
}

func atEveryPoint(t *testing.T, newSubject maker) {
	t.Helper()
	env := testenv.Postgres(t)
	for _, point := range consumerPoints {
		for kind := range (&victim{}).kinds() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				v := &victim{subject: newSubject(t, env, pginbox.Config{}), points: &failpointtest.Registry{}}
				require.NoError(t, v.points.EnableAt(point, 1, v.kinds()[kind]))
				var err error
				v.p, err = v.Open("victim", inbox.Config{
					BusyDelay: time.Millisecond,
					OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 4, Delay: time.Millisecond},
				})
				require.NoError(t, err)
				v.deliverUntilAcked(t)
				require.Positive(t, v.points.Hits(point))
				v.wantOnce(t)
			})
		}
	}
}

func (v *victim) deliverUntilAcked(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for deliveries := 1; !v.deliver(t); deliveries++ {
		require.True(t, time.Now().Before(deadline), "not acked after %d deliveries", deliveries)
	}
}

// deliver reports whether the broker has got an ack.
func (v *victim) deliver(t *testing.T) (acked bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(failpointtest.With(t.Context(), v.points))
	defer cancel()
	v.cancel = cancel
	defer func() {
		if what := recover(); what != nil {
			require.Contains(t, what, "failpoint: ")
			acked = false
		}
	}()
	msg := message.NewMessageWithContext(ctx, "a", nil)
	_, err := v.p.Process(ctx, msg, func(ctx context.Context) error { return v.Write(ctx, "a") })
	if err == nil {
		err = failpoint.Inject(ctx, failpoint.ConsumerAckLost)
	}
	return err == nil && ctx.Err() == nil
}

func (v *victim) wantOnce(t *testing.T) {
	t.Helper()
	effects, err := v.Effects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, effects)
	recorded, err := v.Recorded(t.Context(), "victim", "a")
	require.NoError(t, err)
	require.True(t, recorded)
	parked, err := v.Parked(t.Context(), "victim")
	require.NoError(t, err)
	require.Empty(t, parked)
	require.Zero(t, v.pool.Stat().AcquiredConns())
	require.False(t, v.early, "I3")
}

// TestI3_FailurePointsOfParking lets everything happen to a message that is being
// parked: it is stored once, and acked only then.
//
//leat:level 2
func TestI3_FailurePointsOfParking(t *testing.T) {
	t.Parallel()
	env := testenv.Postgres(t)
	for _, point := range []failpoint.Name{failpoint.ConsumerAttemptWrite, failpoint.ConsumerAfterTrylock, failpoint.ConsumerCommitAmbiguous} {
		for kind := range (&victim{}).kinds() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				v := &victim{subject: newSubject(t, env, pginbox.Config{}), points: &failpointtest.Registry{}}
				hit := map[failpoint.Name]int{failpoint.ConsumerAttemptWrite: 1, failpoint.ConsumerAfterTrylock: 2}[point] // the second claim is that of parking
				require.NoError(t, v.points.EnableAt(point, max(hit, 1), v.kinds()[kind]))
				p, err := v.Open("victim", inbox.Config{
					BusyDelay: time.Millisecond,
					OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 9, Delay: time.Millisecond},
				})
				require.NoError(t, err)
				v.p = parkAlways{p}
				v.deliverUntilAcked(t)
				require.GreaterOrEqual(t, v.points.Hits(point), max(hit, 1))
				parked, err := v.Parked(t.Context(), "victim")
				require.NoError(t, err)
				require.Equal(t, []string{"a"}, parked)
				effects, err := v.Effects(t.Context())
				require.NoError(t, err)
				require.Empty(t, effects)
				require.False(t, v.early, "I3")
			})
		}
	}
}

// parkAlways has a handler that no attempt will fix.
type parkAlways struct{ inbox.Runner }

func (p parkAlways) Process(
	ctx context.Context, msg *message.Message, handle func(ctx context.Context) error,
) (inbox.Outcome, error) {
	return p.Runner.Process(ctx, msg, func(ctx context.Context) error {
		return errors.Join(handle(ctx), inbox.Permanent(errHandler))
	})
}
