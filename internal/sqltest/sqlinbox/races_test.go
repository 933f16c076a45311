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
	"github.com/leat-go/leat/internal/sqltest"
	"github.com/leat-go/leat/outbox"
)

// TestConflict_IsRetried: a transaction that the server ends for a deadlock is tried again,
// wherever it was.
func TestConflict_IsRetried(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		for at, statement := range map[string]string{
			"claim": "INSERT IGNORE INTO `leat_inbox` ", "look before COMMIT": "SELECT 1 FROM `leat_inbox` ", "COMMIT": "",
		} {
			t.Run(name+"/"+at, func(t *testing.T) {
				t.Parallel()
				s := newSubject(t, open(t, nil), sqlinbox.Config{})
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

// TestAdmin_DropWaitsForNoHandler: while the first message of a key runs, those behind it
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
			_, err = ops.Redrive(t.Context(), admin.RedriveRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "first"}})
			require.NoError(t, err)

			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var dropErr error
			err = in.RunRedrive(ctx, func(context.Context, *message.Message) error {
				defer stop()
				soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, dropErr = ops.Drop(soon, admin.DropRequest{By: by, Consumer: "c", Selection: admin.Selection{ID: "behind"}})
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
