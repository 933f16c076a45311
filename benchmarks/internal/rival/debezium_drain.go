package rival

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Drained contains the times that it took to carry a backlog.
type Drained struct {
	// Whole is the time from the request to start the connector until all records were in the topic.
	Whole time.Duration
	// Streaming is the time between the broker's first record and its last.
	Streaming time.Duration
}

// Drain starts the connector, which must be stopped, waits until messages are in the topic, and stops the
// connector. messages must be all messages that were written since the last run. The topic is read only
// after that, since a consumer would use processor time.
func (d *Debezium) Drain(ctx context.Context, messages []outbox.Message) (Drained, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	from, err := d.topic.ends(ctx)
	if err != nil {
		return Drained{}, err
	}
	began := time.Now()
	if err := d.resume(ctx); err != nil {
		return Drained{}, err
	}
	if err := d.awaitCount(ctx, from, len(messages)); err != nil {
		return Drained{}, errors.Join(err, d.Stop(context.WithoutCancel(ctx)))
	}
	took := Drained{Whole: time.Since(began)}
	if err := d.Stop(ctx); err != nil {
		return Drained{}, err
	}
	took.Streaming, err = d.arrived(ctx, from, messages)
	took.Streaming = max(took.Streaming, time.Millisecond) // the resolution of the broker's clock
	return took, err
}

// awaitCount waits until the topic has count more records than at from.
func (d *Debezium) awaitCount(ctx context.Context, from offsets, count int) error {
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for checked := time.Now(); ; {
		now, err := d.topic.ends(ctx)
		if err != nil {
			return err
		}
		arrived := now.beyond(from)
		if arrived >= int64(count) {
			return nil
		}
		if time.Since(checked) > time.Second {
			if _, err := d.worker.Status(ctx, debeziumName); err != nil {
				return fmt.Errorf("rival: %w", err)
			}
			checked = time.Now()
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return fmt.Errorf("rival: %d of %d messages have arrived from Debezium: %w\n%s", arrived, count, ctx.Err(), d.worker.Log())
		}
	}
}

// arrived reads the topic from the given offsets until all messages were seen, and returns the time
// between the first and the last, by the broker's clock.
func (d *Debezium) arrived(ctx context.Context, from offsets, messages []outbox.Message) (time.Duration, error) {
	ids := make(map[string]struct{}, len(messages))
	for i := range messages {
		ids[messages[i].ID] = struct{}{}
	}
	took, err := d.topic.read(ctx, from, ids)
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, d.worker.Log())
	}
	return took, nil
}
