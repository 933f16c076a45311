package main

import (
	"context"
	"errors"
	"sync"
	"time"
)

// paced yields the numbers from 0 to n−1, rate of them per second. The channel is closed after
// the last, or when ctx ends.
func paced(ctx context.Context, n, rate int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		began := time.Now()
		for i := range n {
			for due := began.Add(time.Duration(i) * time.Second / time.Duration(rate)); time.Now().Before(due); {
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return
				}
			}
			select {
			case out <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// inParallel calls do for each value of source, workers at a time, until it is
// closed, ctx ends or a call fails. All calls have returned when it does.
func inParallel[T any](
	ctx context.Context, workers int, source func(context.Context) <-chan T, do func(context.Context, T) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	values := source(ctx)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for v := range values {
				if err := do(ctx, v); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// wait returns false if ctx ended first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
