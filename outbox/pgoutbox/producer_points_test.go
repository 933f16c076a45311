package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
)

// producerPoints returns the points that a producer passes once per transaction.
func producerPoints() []failpoint.Name {
	return []failpoint.Name{
		failpoint.ProducerBeforeInsert, failpoint.ProducerAfterInsert,
		failpoint.ProducerCommitAmbiguous, failpoint.ProducerAfterCommitBeforeWake,
	}
}

// victimHit is the number of the order at which the fault hits the victim.
const victimHit = 4

// strike applies a fault to the victim of a shop.
type strike struct {
	*shop

	points *failpointtest.Registry
	point  failpoint.Name
	kind   string
	cancel context.CancelFunc // of the order under way
}

// actions returns the faults that can hit at a point, by kind.
func (s *strike) actions() map[string]failpointtest.Action {
	return map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"panic":  failpointtest.Panic(),
		"cancel": failpointtest.Call(func(context.Context) error { s.cancel(); return nil }),
		"cut": failpointtest.Call(func(context.Context) error {
			_, err := s.db.Pool.Exec(s.t.Context(), "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"+
				" WHERE datname = current_database() AND application_name = 'victim'")
			return err
		}),
		"pause": failpointtest.Call(func(context.Context) error { // while the others go on, and what they commit goes out
			for n := range ordersEach {
				if err := s.other.place(s.t.Context(), n); err != nil {
					return err
				}
			}
			_, err := s.broker.Await(s.t.Context(), func(log []outbox.Record) bool {
				others := 0
				for i := range log {
					if log[i].Key == "other" {
						others++
					}
				}
				return others == ordersEach
			})
			return err
		}),
	}
}

// arm sets the fault up. To cut the connection after COMMIT was sent, it is cut on the wire.
func (s *strike) arm(point failpoint.Name, kind string) {
	s.t.Helper()
	s.point, s.kind = point, kind
	action := s.actions()[kind]
	if point == failpoint.ProducerCommitAmbiguous && kind == "cut" {
		point = failpoint.ProducerAfterInsert
		action = failpointtest.Call(func(context.Context) error { s.wire.Arm(faultnet.CutAfter); return nil })
	}
	require.NoError(s.t, s.points.EnableAt(point, victimHit, action))
}

// try places an order of the victim and reports whether the victim knows that the order is placed.
func (s *strike) try(n int) (placed bool) {
	ctx, cancel := context.WithCancel(failpointtest.With(s.t.Context(), s.points))
	defer cancel()
	s.cancel = cancel
	defer func() {
		if what := recover(); what != nil {
			require.Contains(s.t, what, "failpoint: ")
			placed = false
		}
	}()
	err := s.victim.place(ctx, n)
	ambiguous := s.point == failpoint.ProducerCommitAmbiguous
	if err != nil && (s.kind != "cut" || ambiguous) {
		require.Equal(s.t, ambiguous, errors.Is(err, outbox.ErrCommitUnknown), "%v", err)
	} // whose connection was cut otherwise knows it or not, as it noticed before COMMIT or by it
	return err == nil
}

// repeats returns how often the victim has to retry, at least and at most: when it does not know the
// outcome, or knows that it failed.
func repeats(point failpoint.Name, kind string) (least, most int) {
	committed := point == failpoint.ProducerCommitAmbiguous || point == failpoint.ProducerAfterCommitBeforeWake
	woken := point == failpoint.ProducerAfterCommitBeforeWake
	switch {
	case kind == "pause", kind == "cancel" && committed, kind == "error" && woken: // relays can do without a wake
		return 0, 0
	case kind == "cut" && woken:
		return 0, 1 // the pool may notice before the next order does
	default:
		return 1, 1
	}
}

// TestO1_ProducerAtEveryPoint applies every kind of fault to a producer at each of its points, with other
// producers and a relay at work. It retries until it knows that its order is placed: each order exists
// once, and each message is sent once, in order.
func TestO1_ProducerAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range producerPoints() {
		for kind := range (&strike{}).actions() {
			t.Run(fmt.Sprintf("%s/%s", point, kind), func(t *testing.T) {
				t.Parallel()
				s := &strike{shop: newShop(t), points: &failpointtest.Registry{}}
				s.arm(point, kind)
				tries := 0
				for n := range ordersEach {
					for placed := false; !placed; tries++ {
						require.Less(t, tries, 5*ordersEach)
						placed = s.try(n)
					}
					require.NoError(t, s.other.place(t.Context(), n))
				}
				least, most := repeats(point, kind)
				require.GreaterOrEqual(t, tries, ordersEach+least)
				require.LessOrEqual(t, tries, ordersEach+most)
				if point == failpoint.ProducerCommitAmbiguous && kind == "cut" {
					require.EqualValues(t, 1, s.wire.Cuts())
				}
				require.GreaterOrEqual(t, s.points.Hits(point), victimHit)
				s.requireOnce()
			})
		}
	}
}

// TestO1_ProducerThatDoesNotLook is the control: a producer that repeats an order with an unknown outcome,
// without looking for it first, places it twice.
func TestO1_ProducerThatDoesNotLook(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	place := func() error {
		return s.victim.ob.InTx(t.Context(), func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders VALUES ('victim0')"); err != nil {
				return err
			}
			return s.victim.ob.EnqueueContext(ctx, outbox.Message{ID: "victim0", Topic: "orders", Key: "victim"})
		})
	}
	s.wire.Arm(faultnet.CutAfter)
	require.Error(t, place())
	require.EqualValues(t, 1, s.wire.Cuts())
	require.NoError(t, place())
	require.Equal(t, 2, s.placed())
	require.Equal(t, 2, stored(t, s.db))
}

// TestO1_ProducerProcessDiesAtEveryPoint ends a producer's process at each of its points. Another process
// then places the same orders from the start.
//
//leat:level 4
func TestO1_ProducerProcessDiesAtEveryPoint(t *testing.T) {
	t.Parallel()
	for _, point := range producerPoints() {
		t.Run(string(point), func(t *testing.T) {
			t.Parallel()
			s := newShop(t)
			child := osexec.CommandContext(t.Context(), os.Args[0])
			child.Env = append(os.Environ(), envProducer+"="+s.db.URL, fmt.Sprintf("%s=%s=exit@%d", failpointtest.EnvPoints, point, victimHit))
			require.NoError(t, s.other.place(t.Context(), 0))
			output, err := child.CombinedOutput()
			exit, ok := errors.AsType[*osexec.ExitError](err)
			require.True(t, ok, "%v %s", err, output)
			require.Equal(t, failpointtest.ExitStatus, exit.ExitCode(), "%s", output)
			want := victimHit
			if point == failpoint.ProducerBeforeInsert || point == failpoint.ProducerAfterInsert {
				want--
			}
			require.Equal(t, want, s.placed())
			for n := range ordersEach {
				require.NoError(t, s.victim.place(t.Context(), n))
				require.NoError(t, s.other.place(t.Context(), n))
			}
			s.requireOnce()
		})
	}
}
