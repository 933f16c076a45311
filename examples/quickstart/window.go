package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"
)

const (
	// lookEvery is how often a full window looks for effects.
	lookEvery = 5 * time.Millisecond
	// givenUp is how long no effect may come before a full window goes on all the same:
	// a broken rule loses some, and a relay that is down holds them up for less.
	givenUp = 10 * time.Second
)

// window closes the loop: a webhook arrives when an earlier one has had its effect, so
// that what is measured is not how long a queue can get. It knows the effects from the
// consumer's database.
type window struct {
	settings   settings
	db         *sql.DB // the consumer's
	most       int64
	rolledBack atomic.Int64
	forgiven   int64
	err        error // why admit has ended early, once its channel is closed
}

func newWindow(s settings) (*window, error) {
	db, err := openConsumerDB(s)
	return &window{settings: s, db: db, most: int64(s.InFlight)}, err
}

func (w *window) close() { _ = w.db.Close() }

// admit yields the numbers from first to n−1, each when there is room for it.
func (w *window) admit(ctx context.Context, first, n int) <-chan int {
	out := make(chan int)
	go func() {
		defer close(out)
		for i := first; i < n; {
			var room int64
			if room, w.err = w.room(ctx, int64(i)); w.err != nil {
				return
			}
			for ; room > 0 && i < n; i, room = i+1, room-1 {
				select {
				case out <- i:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out
}

// room waits until fewer than most of those that were issued are in flight and
// returns how many more may be.
func (w *window) room(ctx context.Context, issued int64) (int64, error) {
	last, moved := int64(-1), time.Now()
	for {
		flying, err := w.inFlight(ctx, issued)
		if err != nil {
			return 0, err
		}
		if flying < w.most {
			return w.most - flying, nil
		}
		if flying != last {
			last, moved = flying, time.Now()
		} else if time.Since(moved) > givenUp {
			w.forgiven += flying
		}
		if !wait(ctx, lookEvery) {
			return 0, context.Cause(ctx)
		}
	}
}

// drained waits until none of those that were issued is in flight.
func (w *window) drained(ctx context.Context, issued int64) error {
	for began := time.Now(); time.Since(began) < givenUp; {
		flying, err := w.inFlight(ctx, issued)
		if err != nil || flying <= 0 {
			return err
		}
		if !wait(ctx, lookEvery) {
			return context.Cause(ctx)
		}
	}
	return nil // the checker finds out what is missing
}

func (w *window) inFlight(ctx context.Context, issued int64) (int64, error) {
	var effects int64
	if err := w.db.QueryRowContext(ctx, `SELECT count(*) FROM effects`).Scan(&effects); err != nil {
		return 0, fmt.Errorf("count effects: %w", err)
	}
	return issued - effects - w.rolledBack.Load() - w.forgiven, nil
}
