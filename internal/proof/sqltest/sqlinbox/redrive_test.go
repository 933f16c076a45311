package sqlinbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/sqlinbox"
	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/outbox"
)

// contested is an inbox whose redriven message is locked by another process at its first claim.
type contested struct {
	*subject

	in      *sqlinbox.Inbox
	other   *sql.Tx
	claims  int
	outcome inbox.Outcome // of the first redriven delivery
	stop    context.CancelFunc
}

// newContested parks and redrives message a. If counted is set, the other process has also picked the
// message again, as if this one had stalled.
func newContested(t *testing.T, open opener, counted bool) *contested {
	t.Helper()
	c := &contested{subject: newSubject(t, open(t, nil), sqlinbox.Config{})}
	var err error
	c.other, err = c.look.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.other.Rollback() }) // it has been, unless the test fails
	c.db = sqltest.OpenHooked(t, c.config, func(ctx context.Context, query string) error {
		if !strings.Contains(query, "SELECT attempts FROM `leat_inbox_parked`") {
			return nil
		}
		if c.claims++; c.claims > 1 {
			return c.other.Rollback()
		}
		if counted {
			if _, err := c.look.ExecContext(ctx, "UPDATE leat_inbox_parked SET tries = tries + 1"); err != nil {
				return err
			}
		}
		var no int64
		return c.other.QueryRowContext(ctx, "SELECT no FROM leat_inbox_parked FOR UPDATE").Scan(&no)
	})
	c.in, err = c.open("c", inbox.Config{
		OnFailure: inbox.Policy{Action: inbox.Park}, RedrivePoll: time.Millisecond, Hooks: []outbox.Hook{c},
	})
	require.NoError(t, err)
	_, err = c.in.Process(t.Context(), message.NewMessage("a", nil), func(context.Context) error {
		return inbox.Permanent(errors.New("no"))
	})
	require.NoError(t, err)
	ops, err := c.Admin()
	require.NoError(t, err)
	_, err = ops.Redrive(t.Context(), admin.ChangeRequest{
		By: admin.By{Actor: "o", Reason: "r"}, Consumer: "c", Selection: admin.Selection{ID: "a"},
	})
	require.NoError(t, err)
	return c
}

// OnInboxDelivery implements inbox.DeliveryHook.
func (c *contested) OnInboxDelivery(_ context.Context, e inbox.DeliveryEvent) {
	if e.Redriven {
		c.outcome = e.Outcome
		c.stop()
	}
}

// redrive makes one attempt. Its limit of 8 s is shorter than the wait for a lock (50 s), and shorter than
// the time for which a picked message is left alone (10 s).
func (c *contested) redrive(t *testing.T) inbox.Outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
	defer cancel()
	c.stop = cancel
	require.NoError(t, c.in.RunRedrive(ctx, func(context.Context, *message.Message) error { return nil }))
	require.ErrorIs(t, ctx.Err(), context.Canceled, "no attempt ended")
	return c.outcome
}

// TestRedrive_OutlastsALook: another process that looks for redriven messages briefly locks more rows than
// the one it takes. The picked message runs all the same.
func TestRedrive_OutlastsALook(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t, open, false)
			require.Equal(t, inbox.OutcomeCommitted, c.redrive(t))
			require.Equal(t, 2, c.claims)
		})
	}
}

// TestRedrive_WaitsForNoHandler: a message that another process has picked in between may stay in its
// handler for hours, so redrive does not wait for it.
func TestRedrive_WaitsForNoHandler(t *testing.T) {
	t.Parallel()
	for name, open := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newContested(t, open, true)
			require.Equal(t, inbox.OutcomeBusy, c.redrive(t))
			require.Equal(t, 1, c.claims)
		})
	}
}
