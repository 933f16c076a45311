package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// renewTime bounds one renewal. It is shorter than any lease that the checks take.
const renewTime = 10 * time.Second

var errLateRenewal = fmt.Errorf("renew: did not return within %s", renewTime)

// renewInTime renews the lease, and does not wait for it for longer than renewTime.
func (r *reader) renewInTime(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, renewTime, errLateRenewal)
	defer cancel()
	renewed := make(chan error, 1)
	go func() { renewed <- r.Renew(ctx, longTTL) }()
	select {
	case err := <-renewed:
		if err != nil {
			return fmt.Errorf("renew: %w", errors.Join(err, context.Cause(ctx)))
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keepRenewing renews the lease until stop is called, which returns what went wrong.
func (r *reader) keepRenewing(ctx context.Context) (stop func() error) {
	end, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			if err := r.renewInTime(ctx); err != nil {
				ended <- err
				return
			}
			select {
			case <-end:
				ended <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	return func() error {
		close(end)
		return <-ended
	}
}
