package outboxtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

var errNoDelayer = errors.New("the subject is no Delayer; say Features.NoDelay")

// delayed is a check's view of a Delayer.
type delayed struct {
	Delayer

	tr *trial
}

func (tr *trial) delayed() (delayed, error) {
	d, ok := tr.Subject.(Delayer)
	if !ok {
		return delayed{}, errNoDelayer
	}
	return delayed{d, tr}, nil
}

// in is a time from now on the clock of delays, of whole microseconds.
func (d delayed) in(ctx context.Context, delay time.Duration) (time.Time, error) {
	now, err := d.Now(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("now: %w", err)
	}
	return now.Add(delay).Truncate(time.Microsecond), nil
}

// until returns msgs with this NotBefore.
func until(at time.Time, msgs ...outbox.Message) []outbox.Message {
	for i := range msgs {
		msgs[i].NotBefore = at
	}
	return msgs
}

// await returns when the clock has come to at.
func (d delayed) await(ctx context.Context, at time.Time) error {
	for {
		now, err := d.Now(ctx)
		if err != nil {
			return fmt.Errorf("now: %w", err)
		}
		if !now.Before(at) {
			return nil
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// arrive promotes and drains until n records have come.
func (d delayed) arrive(ctx context.Context, r *reader, n int) ([]outbox.Record, error) {
	var got []outbox.Record
	for {
		err := d.Promote(ctx)
		if err == nil {
			var records []outbox.Record
			records, err = r.drain(ctx, 7)
			got = append(got, records...)
		}
		if err == nil && len(got) >= n {
			return got, nil
		}
		if err == nil {
			err = pause(ctx)
		}
		if err != nil {
			return got, fmt.Errorf("%d of %d records that are due have come, %s: %w", len(got), n, describe(got), err)
		}
	}
}

// expectArrivals expects exactly these records, in this order, and nothing after them.
func (d delayed) expectArrivals(ctx context.Context, r *reader, names ...string) error {
	got, err := d.arrive(ctx, r, len(names))
	if err != nil {
		return err
	}
	rest, err := d.arrive(ctx, r, 0)
	if err != nil {
		return err
	}
	return expect(append(got, rest...), names...)
}
