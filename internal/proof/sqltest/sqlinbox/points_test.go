package sqlinbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
)

// happenings returns the faults that can happen at a point, by kind. "cancel" ends the delivery's context.
func happenings(cancel func(), s *subject) map[string]failpointtest.Action {
	all := map[string]failpointtest.Action{
		"error":  failpointtest.Error(nil),
		"panic":  failpointtest.Panic(),
		"cancel": failpointtest.Call(func(context.Context) error { cancel(); return nil }),
	}
	if s.dialect == outbox.SQLite {
		return all
	}
	all["cut"] = failpointtest.Call(func(ctx context.Context) error { // of all that work in the database
		sessions, err := s.sessions(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		for _, id := range sessions {
			_, _ = s.look.ExecContext(context.WithoutCancel(ctx), fmt.Sprintf("KILL %d", id)) // it may be ours
		}
		return nil
	})
	return all
}

// sessions returns the sessions in the database, except its own.
func (s *subject) sessions(ctx context.Context) (all []int64, err error) {
	rows, err := s.look.QueryContext(ctx,
		"SELECT id FROM information_schema.processlist WHERE db = ? AND id <> CONNECTION_ID()", s.config.DBName)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		all = append(all, id)
	}
	return all, rows.Err()
}

// deliver delivers a message until it is acknowledged.
func deliver(t *testing.T, points *failpointtest.Registry, cancel *context.CancelFunc, process func(ctx context.Context) error) {
	t.Helper()
	try := func() (err error) {
		ctx, stop := context.WithCancel(failpointtest.With(t.Context(), points))
		defer stop()
		*cancel = stop
		defer func() {
			if what := recover(); what != nil {
				require.Contains(t, what, "failpoint: ")
				err = errors.New("panicked")
			}
		}()
		return process(ctx)
	}
	for end := time.Now().Add(time.Minute); try() != nil; {
		require.True(t, time.Now().Before(end), "not acknowledged in time")
	}
}

// onEachHappening runs a test for every kind of fault, on each database.
func onEachHappening(t *testing.T, point failpoint.Name, test func(t *testing.T, s *subject, points *failpointtest.Registry, cancel *context.CancelFunc)) {
	t.Helper()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind := range happenings(nil, &subject{database: &database{}}) {
				if kind == "cut" && name == "SQLite" {
					continue
				}
				t.Run(kind, func(t *testing.T) {
					s := newSubject(t, open(t, nil), sqlinbox.Config{})
					points := &failpointtest.Registry{}
					var cancel context.CancelFunc
					require.NoError(t, points.EnableAt(point, 1, happenings(func() { cancel() }, s)[kind]))
					test(t, s, points, &cancel)
					require.Positive(t, points.Hits(point))
				})
			}
		})
	}
}

func (s *subject) requireEffects(t *testing.T, want int) {
	t.Helper()
	var n int
	require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM effects").Scan(&n))
	require.Equal(t, want, n)
}

// TestI1_FailurePointOfTheClaim: the message takes effect once, and its lock is released.
func TestI1_FailurePointOfTheClaim(t *testing.T) {
	t.Parallel()
	onEachHappening(t, failpoint.ConsumerAfterTrylock, func(t *testing.T, s *subject, points *failpointtest.Registry, cancel *context.CancelFunc) {
		in, err := s.open("c", inbox.Config{BusyDelay: time.Millisecond})
		require.NoError(t, err)
		deliver(t, points, cancel, func(ctx context.Context) error {
			_, err := in.Process(ctx, message.NewMessage("a", nil), func(ctx context.Context) error { return s.Write(ctx, "a") })
			return err
		})
		s.requireEffects(t, 1)
	})
}

// TestI13_FailurePointOfBatches: each message of a batch takes effect once, and the locks are released.
func TestI13_FailurePointOfBatches(t *testing.T) {
	t.Parallel()
	onEachHappening(t, failpoint.ConsumerAfterTrylock, func(t *testing.T, s *subject, points *failpointtest.Registry, cancel *context.CancelFunc) {
		in, err := s.OpenBatch("c", inbox.Config{BusyDelay: time.Millisecond}, inbox.BatchConfig{})
		require.NoError(t, err)
		handle := func(ctx context.Context, msgs []*message.Message) (err error) {
			for _, msg := range msgs {
				err = errors.Join(err, s.Write(ctx, msg.UUID))
			}
			return err
		}
		deliver(t, points, cancel, func(ctx context.Context) error {
			var msgs []*message.Message
			for _, id := range []string{"a", "b", "c"} {
				msgs = append(msgs, message.NewMessageWithContext(ctx, id, nil))
			}
			return errors.Join(in.Process(ctx, msgs, handle)...)
		})
		effects, err := s.Effects(t.Context())
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b", "c"}, effects)
	})
}

// TestI3_FailurePointOfParking: the message is parked once, even if the outcome of the first attempt is
// unknown.
func TestI3_FailurePointOfParking(t *testing.T) {
	t.Parallel()
	onEachHappening(t, failpoint.ConsumerCommitAmbiguous, func(t *testing.T, s *subject, points *failpointtest.Registry, cancel *context.CancelFunc) {
		in, err := s.open("c", inbox.Config{BusyDelay: time.Millisecond, OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3}})
		require.NoError(t, err)
		deliver(t, points, cancel, func(ctx context.Context) error {
			_, err := in.Process(ctx, message.NewMessage("a", nil), func(context.Context) error { return inbox.Permanent(errors.New("no")) })
			return err
		})
		ops, err := s.Admin()
		require.NoError(t, err)
		parked, err := ops.Parked(t.Context(), admin.ParkedQuery{Consumer: "c"})
		require.NoError(t, err)
		require.Len(t, parked, 1)
		s.requireEffects(t, 0)
	})
}
