// Package fullpool warns if deliveries have taken all connections of a pool:
// a handler that uses the pool instead of its transaction then waits for a connection that
// another such handler holds, and nothing happens for ever.
package fullpool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/logger"
)

const (
	// wait is how long a claim waits for a connection.
	wait = 30 * time.Second
	// long is how long a delivery has its connection before it is looked at.
	long = 10 * time.Second
)

// errWaited is the cause of the end of a claim's wait.
var errWaited = errors.New("leat: no connection became free")

// Pool is what is known of a pool. It is safe for concurrent use.
// See design 12.6.
type Pool struct {
	// Wait and Long replace the times above in tests.
	Wait, Long time.Duration

	setting string
	stats   func() (taken, most int)
	log     *slog.Logger
}

// New returns a Pool whose size is set by setting. Stats returns how many connections are
// taken, and how many there are at most, 0 for any number.
func New(setting string, stats func() (taken, most int), log *slog.Logger) *Pool {
	return &Pool{Wait: wait, Long: long, setting: setting, stats: stats, log: logger.Or(log)}
}

// OfSQL is New for a pool of database/sql.
func OfSQL(db *sql.DB, log *slog.Logger) *Pool {
	return New("SetMaxOpenConns", func() (taken, most int) {
		s := db.Stats()
		return s.InUse, s.MaxOpenConnections
	}, log)
}

// Take calls take, which takes a connection, and bounds the wait for it. If the wait ends,
// the error says how large the pool is.
func (p *Pool) Take(ctx context.Context, take func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, p.Wait, errWaited)
	defer cancel()
	err := take(bounded)
	if err == nil || !errors.Is(context.Cause(bounded), errWaited) {
		return err
	}
	if taken, most := p.stats(); most > 0 && taken >= most {
		return fmt.Errorf("%w within %s: all %d of the pool are taken (%s); give it more, deliver fewer messages at a time, "+
			"and look for handlers that use the pool instead of the delivery's transaction", errWaited, p.Wait, most, p.setting)
	}
	return fmt.Errorf("%w within %s: %w", errWaited, p.Wait, err)
}

// Watch warns if the pool is full once a delivery has had its connection for long. Stop ends
// that.
func (p *Pool) Watch() (stop func() bool) {
	return time.AfterFunc(p.Long, p.warn).Stop
}

func (p *Pool) warn() {
	taken, most := p.stats()
	if most == 0 || taken < most {
		return
	}
	p.log.Warn("inbox delivery is slow and its pool has no free connection: does the handler use the pool instead of the delivery's transaction (Tx)?",
		slog.Duration("running", p.Long), slog.Int("connections", most), slog.String("setting", p.setting))
}
