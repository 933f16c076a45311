package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// session is a Source under a lease. The reader connection belongs to Read and to what
// reads the held records, the writer connection to Advance, Hold, Resolve and Renew, so
// that settling and renewing never wait for a page, however large it is.
type session struct {
	source  *Source
	attempt pglease.Attempt
	lease   pglease.Lease
	slots   int // that the group has
	over    sync.Once
	facts   pgwindow.Facts
	reader  *pgx.Conn
	pooled  bool   // a pooler stands before reader
	large   string // page_large.sql
	expect  int    // rows of the next page, a guess

	reading sync.Mutex // guards reader; no renewal needs it
	writing sync.Mutex // guards writer; held for a write, which Renew may wait for, and never for a read
	writer  *pgx.Conn

	mu     sync.Mutex // guards the rest
	window pgwindow.Window
	read   int64 // rows of the window up to here were read
	whole  bool  // all of the window was read
	opened int   // windows whose snapshots were taken since this session began
	joined int   // windows that other slots have opened
	closed bool  // the slot has come to its end
	done   int64 // rows of the window up to here are settled
	stored int64 // done, as the database knows it
	unread int   // pages handed out and not settled
}

// cursor is where a page ends.
type cursor struct {
	window int64
	last   int64 // of the whole page
	final  bool  // no page of the window follows
}

// open loads the position and connects.
func (s *Source) open(ctx context.Context, lease pglease.Lease, attempt pglease.Attempt) (*session, error) {
	reader, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	n := &session{
		source: s, lease: lease, attempt: attempt, reader: reader,
		pooled: s.ob.pooled.Load(), large: s.ob.sql.pageLarge,
	}
	if n.writer, err = s.connect(ctx); err == nil {
		err = n.load(ctx)
	}
	if err != nil {
		n.close(ctx)
		return nil, err
	}
	s.attend(ctx)
	return n, nil
}

// load reads the position.
func (n *session) load(ctx context.Context) error {
	ob := n.source.ob
	if n.source.cfg.SyncPositions && !ob.pooled.Load() {
		if _, err := n.reader.Exec(ctx, "SET synchronous_commit = on"); err != nil {
			return err
		}
	}
	var err error
	if n.facts, err = ob.window.Facts(ctx, n.reader); err != nil {
		return err
	}
	if n.source.cfg.SyncPositions && n.facts.SynchronousCommit == "off" {
		return fmt.Errorf("%w: synchronous_commit is off behind the pooler", errPosition)
	}
	w, slots, incarnation, err := ob.chain.Load(ctx, n.reader, n.lease.Slot)
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("%w: slot %d of %q has no position", driver.ErrLeaseLost, n.lease.Slot.No, n.lease.Slot.Group)
	}
	if err != nil {
		return err
	}
	if err := n.facts.Belongs(w); err != nil {
		return err
	}
	if err := n.facts.Continues(incarnation); err != nil {
		return err
	}
	if err := ob.chain.Contradicts(ctx, n.reader, w); err != nil {
		return err
	}
	n.slots = int(slots)
	n.enter(w)
	return nil
}

// enter makes w the window that is read, from where it is settled.
func (n *session) enter(w pgwindow.Window) {
	n.window = w
	n.read, n.done, n.stored = w.Last, w.Last, w.Last
	n.whole = w.Empty()
	n.unread = 0
	n.closed = int(w.Slots) != n.slots
}

// Epoch implements driver.Session.
func (n *session) Epoch() int64 {
	return n.lease.Epoch
}

// Renew implements driver.Session.
func (n *session) Renew(ctx context.Context, ttl time.Duration) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	return unusable(n.source.ob.leases.Renew(ctx, n.writer, n.lease, ttl))
}

// Advance implements driver.Session. The last page of a window is not stored at
// once: opening the next window does it, or the next Read that finds nothing.
func (n *session) Advance(ctx context.Context, p driver.Page, settled int) error {
	at, last, err := endOf(p, settled)
	if err != nil || !n.settle(at, last) {
		return err
	}
	return n.store(ctx, at.window, last)
}

// endOf returns where the first settled records of p end.
func endOf(p driver.Page, settled int) (at cursor, last int64, err error) {
	at, ok := p.Cursor.(cursor)
	if !ok || settled < 1 || settled > len(p.Records) {
		return cursor{}, 0, fmt.Errorf("leat: cannot settle %d of a page of %d records", settled, len(p.Records))
	}
	if settled == len(p.Records) {
		return at, at.last, nil
	}
	return at, p.Records[settled-1].Seq, nil
}

// settle notes that rows up to last are settled, and says whether that is to be
// stored now.
func (n *session) settle(at cursor, last int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.window != n.window.No || last <= n.done {
		return false
	}
	n.done = last
	if last == at.last {
		n.unread--
	}
	return last != at.last || !at.final
}

// store writes the position within a window.
func (n *session) store(ctx context.Context, window, last int64) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	if n.isStored(window, last) {
		return nil // Advance and the Read behind it may both come with the same position
	}
	if err := failpoint.Inject(ctx, failpoint.RelayLatePositionWrite); err != nil {
		return err
	}
	if err := n.source.ob.window.Advance(ctx, n.writer, n.lease, window, last); err != nil {
		return unusable(err)
	}
	if err := failpoint.Inject(ctx, failpoint.RelayAdvanceAmbiguous); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if window == n.window.No {
		n.stored = max(n.stored, last)
	}
	return nil
}

// isStored says whether the database knows the position already, or has no more
// use for it since the window is over.
func (n *session) isStored(window, last int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return window != n.window.No || last <= n.stored
}

// flush stores what is settled but not stored yet.
func (n *session) flush(ctx context.Context) error {
	n.mu.Lock()
	window, done, stored := n.window.No, n.done, n.stored
	n.mu.Unlock()
	if done == stored {
		return nil
	}
	return n.store(ctx, window, done)
}

// Release implements driver.Session. The lease is given up even where the
// position could not be stored, which costs repeats.
func (n *session) Release(ctx context.Context) error {
	err := n.flush(ctx)
	if rerr := n.giveUp(ctx); err == nil || rerr == nil {
		err = rerr
	}
	if errors.Is(err, driver.ErrLeaseLost) {
		err = nil // another one leads: nothing of ours is left to give up
	}
	n.over.Do(func() {
		n.close(ctx)
		n.source.leave()
		n.source.claimant.End(n.attempt)
	})
	return err
}

// giveUp frees the lease, through the pool where the writer connection is lost.
func (n *session) giveUp(ctx context.Context) error {
	n.writing.Lock()
	defer n.writing.Unlock()
	sql := n.source.ob.leases
	err := sql.Release(ctx, n.writer, n.lease)
	if err != nil && n.writer.IsClosed() && ctx.Err() == nil {
		err = sql.Release(ctx, n.source.ob.pool, n.lease)
	}
	return err
}

func (n *session) close(ctx context.Context) {
	for _, c := range []*pgx.Conn{n.reader, n.writer} {
		if c != nil {
			closeConn(ctx, c)
		}
	}
}
