package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/jitter"
	"github.com/leat-go/leat/internal/wait"
)

// database is a Database and the time of its last answer.
type database struct {
	Database

	mu       sync.Mutex
	answered time.Time
	err      error
}

const (
	// pingEvery is the time between two pings, pingTimeout the time to wait for an answer.
	pingEvery   = 5 * time.Second
	pingTimeout = 5 * time.Second
)

// watch pings the database until ctx ends.
func (db *database) watch(ctx context.Context) error {
	for ctx.Err() == nil {
		bounded, cancel := context.WithTimeout(ctx, pingTimeout)
		err := db.Ping(bounded)
		cancel()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // it was stopped
		}
		db.mu.Lock()
		db.err = err
		if err == nil {
			db.answered = time.Now()
		}
		db.mu.Unlock()
		_ = wait.For(ctx, jitter.Around(pingEvery, 0.1))
	}
	return nil
}

// answers returns an error if the database counts as unavailable.
func (db *database) answers(now time.Time) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	switch {
	case now.Sub(db.answered) <= silence:
		return nil
	case db.err == nil:
		return errStarting
	default:
		return db.err
	}
}
