package testbed

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

const pollEvery = 10 * time.Millisecond

// Until waits until done returns true, done fails, or ctx ends.
func Until(ctx context.Context, done func(ctx context.Context) (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if ok, err := done(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Wait waits until c is closed or has something to receive.
func Wait[T any](ctx context.Context, c <-chan T) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next receives a message. It returns an error if there will be no more messages.
func Next(ctx context.Context, messages <-chan *message.Message) (*message.Message, error) {
	select {
	case msg, open := <-messages:
		if !open {
			return nil, errors.Join(errors.New("the subscriber has ended"), context.Cause(ctx))
		}
		return msg, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
