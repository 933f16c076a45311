package outboxtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/leat-go/leat/outbox/driver"
)

// askForSlots has askers ask for a slot each, at the same time, and returns the sessions
// by their slots.
func (tr *trial) askForSlots(ctx context.Context, slots, askers int) ([]*reader, error) {
	type answer struct {
		s   driver.Session
		err error
	}
	answers := make(chan answer, askers)
	for range askers {
		go func() {
			src, err := tr.group(GroupConfig{Slots: slots})
			if err != nil {
				answers <- answer{err: err}
				return
			}
			s, err := src.Acquire(ctx, longTTL)
			answers <- answer{s, err}
		}()
	}
	holders := make([]*reader, slots)
	var errs []error
	for range askers {
		a := <-answers
		if a.err != nil {
			errs = append(errs, heldBy(a.err))
			continue
		}
		r := &reader{Session: a.s}
		at, err := slotOf(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case at < 0 || at >= slots || holders[at] != nil:
			errs = append(errs, fmt.Errorf("acquire: two hold the lease of slot %d of %d", at, slots))
		default:
			holders[at] = r
		}
	}
	for at, r := range holders {
		if r == nil {
			errs = append(errs, fmt.Errorf("acquire: nobody got slot %d of %d, which was free", at, slots))
		}
	}
	return holders, errors.Join(errs...)
}
