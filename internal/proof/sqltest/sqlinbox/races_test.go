package sqlinbox_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

func nothing(context.Context) error { return nil }

// TestConflict_IsRetried: a transaction that the server ends because of a deadlock is retried, wherever
// the deadlock occurs.
func TestConflict_IsRetried(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for at, statement := range map[string]string{
			"claim": "INSERT IGNORE INTO `leat_inbox` ", "look before COMMIT": "SELECT 1 FROM `leat_inbox` WHERE ", "COMMIT": "",
		} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open(t, nil), sqlinbox.Config{})
				registered, err := s.open("c", inbox.Config{})
				require.NoError(t, err)
				_, err = registered.Process(t.Context(), message.NewMessage("registers the consumer", nil), nothing)
				require.NoError(t, err)
				var met atomic.Bool
				if statement != "" {
					s.db = sqltest.OpenHooked(t, s.config, func(_ context.Context, query string) error {
						if strings.Contains(query, statement) && !met.Swap(true) {
							return sqltest.ErrDeadlock
						}
						return nil
					})
				} else {
					s.commits.Arm(sqltest.CutDeadlock)
				}
				in, err := s.open("c", inbox.Config{ConflictRetries: 1})
				require.NoError(t, err)
				calls := 0
				outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
					calls++
					return nil
				})
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeCommitted, outcome)
				if at == "claim" {
					require.Equal(t, 1, calls)
				} else {
					require.Equal(t, 2, calls)
				}
			})
		}
	}
}

// TestAdmin_DropWaitsForNoHandler: while the first message of a key is being processed, those behind it
// can be dropped.
func TestAdmin_DropWaitsForNoHandler(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{
				OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 3, Delay: inbox.NoDelay}, RedrivePoll: time.Millisecond,
			})
			require.NoError(t, err)
			for _, id := range []string{"first", "behind"} {
				msg := message.NewMessage(id, nil)
				msg.Metadata.Set(outbox.HeaderKey, "k")
				_, err := in.Process(t.Context(), msg, func(context.Context) error { return inbox.Permanent(errors.New("no")) })
				require.NoError(t, err)
			}
			ops, err := s.Admin()
			require.NoError(t, err)
			by := admin.By{Actor: "o", Reason: "r"}
			_, err = ops.Redrive(t.Context(), admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "first"}})
			require.NoError(t, err)

			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var dropErr error
			err = in.RunRedrive(ctx, func(context.Context, *message.Message) error {
				defer stop()
				soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, dropErr = ops.Drop(soon, admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "behind"}})
				return nil
			})
			require.NoError(t, err)
			require.NoError(t, dropErr)
			left, err := ops.Parked(t.Context(), admin.ParkedQuery{Consumer: "c", ID: "behind"})
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestI4_ClockSetBack: a message was redriven while the clock was an hour ahead. It runs soon after the
// clock is right.
func TestI4_ClockSetBack(t *testing.T) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: time.Millisecond})
			require.NoError(t, err)
			_, err = in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error { return inbox.Permanent(errors.New("no")) })
			require.NoError(t, err)
			ops, err := s.Admin()
			require.NoError(t, err)
			by := admin.By{Actor: "o", Reason: "r"}
			_, err = ops.Redrive(t.Context(), admin.ChangeRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "a"}})
			require.NoError(t, err)
			_, err = s.look.ExecContext(t.Context(), "UPDATE leat_inbox_parked SET next_at = next_at + 3600000000")
			require.NoError(t, err)
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			ran := false
			err = in.RunRedrive(ctx, func(context.Context, *message.Message) error {
				defer stop()
				ran = true
				return nil
			})
			require.NoError(t, err)
			require.True(t, ran)
		})
	}
}

// TestMaintenance_ForgetsOnlyWhatItHasSeen: after maintenance has read old ids and before it deletes them,
// another process deletes them, and one of the messages is processed anew.
func TestMaintenance_ForgetsOnlyWhatItHasSeen(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSubject(t, open(t, nil), sqlinbox.Config{})
			in, err := s.open("c", inbox.Config{})
			require.NoError(t, err)
			process := func() {
				outcome, err := in.Process(t.Context(), message.NewMessage("a", nil), nothing)
				require.NoError(t, err)
				require.Equal(t, inbox.OutcomeCommitted, outcome)
				stored, _ := ids.Map("a")
				_, err = s.look.ExecContext(t.Context(), "INSERT INTO leat_inbox_notes (consumer, id) SELECT id, ? FROM leat_inbox_consumers", stored[:])
				require.NoError(t, err)
			}
			process()
			_, err = s.look.ExecContext(t.Context(), "UPDATE leat_inbox SET at = ?", time.Now().Add(-9*time.Hour).UnixMicro())
			require.NoError(t, err)

			var meanwhile atomic.Bool
			slow := sqltest.OpenHooked(t, s.config, func(_ context.Context, query string) error {
				if strings.Contains(query, "FROM `leat_inbox` WHERE consumer = ? AND id IN") && !meanwhile.Swap(true) {
					require.NoError(t, s.Forget(t.Context(), time.Hour))
					process()
				}
				return nil
			})
			m, err := sqlinbox.NewMaintenance(slow, s.dialect, s.cfg, sqlinbox.MaintenanceConfig{Retention: time.Hour})
			require.NoError(t, err)
			report, err := m.RunOnce(t.Context())
			require.NoError(t, err)
			require.True(t, meanwhile.Load())
			require.Zero(t, report.Deleted)
			recorded, err := s.Recorded(t.Context(), "c", "a")
			require.NoError(t, err)
			require.True(t, recorded, "what was processed a moment ago would run again")
			var notes int
			require.NoError(t, s.look.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leat_inbox_notes").Scan(&notes))
			require.Equal(t, 1, notes)
		})
	}
}

// TestMaintenance_RunsOnceAtATime: a second call is refused while one is running.
func TestMaintenance_RunsOnceAtATime(t *testing.T) {
	t.Parallel()
	s := newSubject(t, openMySQL(t, nil), sqlinbox.Config{})
	var m *sqlinbox.Maintenance
	var once, run error
	var tried atomic.Bool
	db := sqltest.OpenHooked(t, s.config, func(ctx context.Context, _ string) error {
		if !tried.Swap(true) {
			_, once = m.RunOnce(ctx)
			run = m.Run(ctx)
		}
		return nil
	})
	m, err := sqlinbox.NewMaintenance(db, s.dialect, s.cfg, sqlinbox.MaintenanceConfig{Retention: time.Hour})
	require.NoError(t, err)
	for range 2 {
		_, err = m.RunOnce(t.Context())
		require.NoError(t, err)
	}
	require.ErrorIs(t, once, outbox.ErrAlreadyRunning)
	require.ErrorIs(t, run, outbox.ErrAlreadyRunning)
}
