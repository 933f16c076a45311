package memoutbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
)

// slowReads is a control whose reads of held records wait for a gate.
type slowReads struct {
	*control

	reached chan struct{} // receives when a read waits
	gate    chan struct{} // is closed to let it go on
}

var _ outboxtest.ReadBlocker = (*slowReads)(nil)

// BlockHeld implements outboxtest.ReadBlocker.
func (c *slowReads) BlockHeld(context.Context) (waits func(context.Context) error, release func(), err error) {
	c.reached, c.gate = make(chan struct{}, 1), make(chan struct{})
	waits = func(ctx context.Context) error {
		select {
		case <-c.reached:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return waits, func() { close(c.gate) }, nil
}

func (c *slowReads) wait() {
	c.reached <- struct{}{}
	<-c.gate
}

// slowReader is a session of slowReads. Its turn is what reads hold, and in the broken
// variant renewals as well.
type slowReader struct {
	*session

	outbox  *slowReads
	turn    chan struct{}
	patient bool // a renewal waits for the turn
}

func (s slowReader) take() (giveBack func()) {
	s.turn <- struct{}{}
	return func() { <-s.turn }
}

func (s slowReader) HeldKeys(ctx context.Context) ([]driver.Key, error) {
	defer s.take()()
	s.outbox.wait()
	return s.session.HeldKeys(ctx)
}

func (s slowReader) CountHeld(ctx context.Context) (int, error) {
	defer s.take()()
	s.outbox.wait()
	return s.session.CountHeld(ctx)
}

func (s slowReader) Due(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
	defer s.take()()
	s.outbox.wait()
	return s.session.Due(ctx, limit, except)
}

func (s slowReader) Renew(ctx context.Context, ttl time.Duration) error {
	if s.patient {
		defer s.take()()
	}
	return s.session.Renew(ctx, ttl)
}

// TestNegativeControls_Renewals: the suite tells a session whose renewals wait for reads
// from one whose renewals do not.
func TestNegativeControls_Renewals(t *testing.T) {
	t.Parallel()
	check, ok := outboxtest.Find("O14_RenewWaitsForNoRead")
	require.True(t, ok)
	for name, patient := range map[string]bool{"wait": true, "do not wait": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := &slowReads{control: newControl(t)}
				c.session = func(s *session) driver.Session {
					return slowReader{session: s, outbox: c, turn: make(chan struct{}, 1), patient: patient}
				}
				err := check.Run(t.Context(), outboxtest.Features{}, c)
				if patient {
					require.ErrorContains(t, err, "waits: renew: did not return")
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}
