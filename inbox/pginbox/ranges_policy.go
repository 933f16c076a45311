package pginbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// TooOldPolicy says what becomes of a message whose id is older than what the inbox
// remembers, so that it may have been processed or not.
type TooOldPolicy string

const (
	// TooOldPark refuses it with driver.ErrTooOld: it is not run, and is given up at once
	// as Config.OnFailure says: parked, dead-lettered, or, by default, not acknowledged.
	TooOldPark TooOldPolicy = "park"
	// TooOldProcess runs it without remembering it: it runs at least once, and again
	// each time that it is delivered.
	TooOldProcess TooOldPolicy = "process"
	// TooOldDrop acknowledges it as a duplicate without running it: it runs at most
	// once, and is lost if it never ran.
	TooOldDrop TooOldPolicy = "drop"
)

func (p TooOldPolicy) validate() error {
	switch p {
	case "", TooOldPark, TooOldProcess, TooOldDrop: // "" is the default
		return nil
	default:
		return outbox.ConfigError("TooOld", fmt.Sprintf("%q", string(p)), "must be park, process or drop")
	}
}

// edge is what becomes of messages at the edge of the inbox's memory.
type edge struct {
	tooOld     TooOldPolicy
	maxAhead   time.Duration
	observe    bool
	onAlarm    func(context.Context, Alarm)
	onObserved func(context.Context, Observation)
	log        *slog.Logger
}

func newEdge(cfg Config) edge {
	return edge{
		tooOld: cfg.TooOld, maxAhead: cfg.MaxAhead, observe: cfg.Observe,
		onAlarm: cfg.OnAlarm, onObserved: cfg.OnObserved, log: logger.Or(cfg.Logger),
	}
}

// claimer is a store of either kind.
type claimer interface {
	// remember claims id, or returns an error that wraps one of driver.ErrTooOld and
	// driver.ErrTooNew.
	remember(ctx context.Context, id string) (driver.Unit, driver.Status, error)
	// bare begins a transaction that records no message. Where lock is not nil it is
	// Busy while another one holds it.
	bare(ctx context.Context, lock *int64) (driver.Unit, driver.Status, error)
}

// settle is Claim: it claims id and applies the policies where that cannot be.
func (k keys) settle(ctx context.Context, c claimer, id string) (driver.Unit, driver.Status, error) {
	unit, status, err := c.remember(ctx, id)
	if k.observe {
		return k.observed(ctx, c, id, unit, status, err)
	}
	switch {
	case errors.Is(err, driver.ErrTooOld):
		return k.old(ctx, c, id, err)
	case errors.Is(err, driver.ErrTooNew):
		k.alarm(ctx, Alarm{Kind: AlarmTooNew, ID: id})
	}
	return unit, status, err
}

// old applies the policy to a message that may be forgotten. Its lock is tried in
// any case: a delivery that began before the message became too old may still be
// running, and whether that will commit is not known.
func (k keys) old(ctx context.Context, c claimer, id string, tooOld error) (driver.Unit, driver.Status, error) {
	lock := k.lock(k.id(id))
	unit, status, err := c.bare(ctx, &lock)
	if err != nil || status != driver.Claimed {
		return nil, status, err
	}
	k.alarm(ctx, Alarm{Kind: AlarmTooOld, ID: id, Policy: k.tooOld})
	if k.tooOld == TooOldProcess {
		return unit, driver.Claimed, nil
	}
	if err := unit.Rollback(ctx); err != nil {
		return nil, 0, err
	}
	if k.tooOld == TooOldDrop {
		return nil, driver.Duplicate, nil
	}
	return nil, 0, tooOld
}

// alarm tells people what they should see.
func (k keys) alarm(ctx context.Context, a Alarm) {
	a.Consumer = k.consumer
	k.log.LogAttrs(ctx, slog.LevelWarn, "inbox alarm", a.attrs()...)
	if k.onAlarm != nil {
		k.onAlarm(ctx, a)
	}
}

// madeAt is the time at which an id of version 7 was made, for people.
func madeAt(id pgtype.UUID) time.Time {
	return time.UnixMilli(ids.Millis(id.Bytes)).UTC()
}
