package driver

import (
	"context"
	"errors"
	"time"

	"github.com/leat-go/leat/outbox"
)

var (
	// ErrLeaseHeld is returned while another process holds the lease: by Source.Acquire, and by
	// RunOnce of a relay or of maintenance.
	ErrLeaseHeld = errors.New("leat: lease is held by another process")

	// ErrLeaseLost is returned by the methods of a Session whose lease has been
	// taken over or has expired. The session is over.
	ErrLeaseLost = errors.New("leat: lease is lost")

	// ErrSourceUnusable is wrapped by errors of a Source that trying again cannot fix and that
	// could lose records if they were ignored: a sequence that moved back, a different database
	// cluster at the same address, a missing schema, a standby at start-up. It ends Run.
	ErrSourceUnusable = errors.New("leat: source is unusable")
)

// Source is a log of committed records with a lease and a stored position.
// Implementations are safe for concurrent use and are driven by Relay, which
// does all retrying: a Source tries once and returns its error.
type Source interface {
	// Check looks for conditions under which the source must not be read. Relay
	// calls it once at start-up. Errors that wrap ErrSourceUnusable end Run.
	Check(ctx context.Context) error

	// Acquire claims the lease for ttl and starts a session at the stored position, or at the
	// oldest retained record if none is stored. While another process holds it, it returns
	// ErrLeaseHeld (as a *LeaseHeldError if the remaining time is known). It does not wait.
	Acquire(ctx context.Context, ttl time.Duration) (Session, error)

	// Wakes returns a channel that receives after a commit in this process was announced,
	// coalesced; nil if the source does not support wakes. Missing a wake costs at most one poll
	// interval. Each call returns a new subscription, which ends with ctx.
	Wakes(ctx context.Context) <-chan struct{}
}

// Session is a Source under a lease. Relay calls Read from one goroutine, and
// Advance and Renew from others at the same time; never two calls of one method
// at once, and Release last and alone.
type Session interface {
	// Epoch returns the lease's number, which grows with every acquisition.
	Epoch() int64

	// Read returns the next records after those that this session has read, at most limit of
	// them, ascending in Seq; in a page that is Early, within each key. An empty page means that
	// nothing can be read now: nothing new has committed, or, if Page.Waiting is set, Advance
	// must first settle pages that were read.
	//
	// An empty page that is not Waiting never misses a record that was committed before Read was
	// called and whose earlier pages are all settled, unless the session is a Tailed that
	// follows.
	Read(ctx context.Context, limit int) (Page, error)

	// Advance settles the first n records of p, 1 to all, which the sink has
	// acknowledged; all pages before p are settled. The position it stores never passes a
	// record that was not settled. A Source may store it with a later call, at
	// the latest when a Read finds nothing new or at Release: a crash in between
	// costs repeats, never a loss; and an Advance that stores nothing may not notice
	// a lost lease. Advance with the same n again changes nothing.
	Advance(ctx context.Context, p Page, n int) error

	// Renew makes the lease end ttl from now, later or sooner. It returns ErrLeaseLost if the
	// session has lost its lease.
	Renew(ctx context.Context, ttl time.Duration) error

	// Release stores the position and releases the lease, so that another relay can take it at
	// once. Releasing a lost lease is not an error.
	Release(ctx context.Context) error
}

// Watched is a Session that notices the loss of its lease without a request to the source.
type Watched interface {
	Session

	// Lost returns an error that wraps ErrLeaseLost if another session may have taken the lease
	// before its time, because the sign of life of this session is gone. It makes no request and
	// does not wait. Relay calls it before each call of the sink, so that a session that was
	// taken for dead completes one call at most.
	Lost() error
}

// Recycler is a Session that can use the memory of a page for another one.
type Recycler interface {
	Session

	// Recycle hands the memory of p back to the session. All of p is settled, and its records and
	// their payloads are not used any more. It may be called at the same time as any other
	// method.
	Recycle(p Page)
}

// Page is a run of records in reading order.
type Page struct {
	// Records are read-only and stay valid until the page is settled.
	Records []outbox.Record
	// Waiting is set if the page is empty only because earlier pages are not settled
	// yet.
	Waiting bool
	// Round counts how often the session has looked for committed records. Records of round 2 and
	// later are not needed to relay everything that was committed before round 1. A Source that
	// does not count leaves it 0.
	Round int
	// Early is set if the position cannot pass the page yet. See Tailed.
	Early bool
	// Idle is what the read of an empty page has found out in addition, which saves separate
	// requests. Nil: nothing.
	Idle *Idle
	// Cursor is the Source's own note of where the page ends.
	Cursor any
}

// Idle is the additional information of a Read that has found nothing, as of a moment after it
// was called.
type Idle struct {
	// NoneHeld is set if the group has nothing set aside, so that nothing is due. A Source that
	// does not know leaves it false.
	NoneHeld bool
	// Paused is what Pausable.Paused would return.
	Paused []string
}

// LeaseHeldError is an ErrLeaseHeld that knows the holder.
type LeaseHeldError struct {
	// Owner names the holder, for operators.
	Owner string
	// Remaining is how long the lease still runs if it is not renewed.
	Remaining time.Duration
	// Retry is how soon to ask again, if the Source notices at once that a holder has died; 0 if
	// it does not, and the lease must expire.
	Retry time.Duration
}

// Error names the holder and the remaining time.
func (e *LeaseHeldError) Error() string {
	return ErrLeaseHeld.Error() + ": " + e.Owner + ", for another " + e.Remaining.String()
}

// Unwrap returns ErrLeaseHeld.
func (e *LeaseHeldError) Unwrap() error {
	return ErrLeaseHeld
}
