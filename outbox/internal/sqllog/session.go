package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// session is a group under a lease. Read, Due and the like use one connection, and everything
// that writes uses another.
type session struct {
	log    *Log
	reader Reader
	owner  string
	epoch  int64
	life   string // of the log that the position belongs to
	server string // that the session began on; "" on SQLite
	moved  driver.ServerChange
	fence  bool // what is read must first be made durable

	reading, writing sqlstore.Conn
	file             *sqlstore.FileLock // on SQLite; nil if there is none

	mu sync.Mutex
	// The group's row has at least rev, and at most tried, that of writes whose answers were
	// lost. A row that was restored from a backup has less.
	rev, tried int64

	read   place // the end of what Read has returned
	pages  int   // number of pages that Read has returned
	aging  aging
	warned bool // it has logged that gaps cannot be closed
	// What is settled: the position, and how much of which page.
	settled  Position
	page, at int
}

var _ driver.Moved = (*session)(nil)

// place is a position, and the id of its last row, if known.
type place struct {
	Position

	id    string
	known bool
}

// behind returns the place at position to, which is reached after raw. Its last record must be
// where it was read.
func (p place) behind(to Position, raw RawPage) place {
	if n := len(raw.Records); n > 0 && raw.Records[n-1].Seq == to.Last {
		return place{to, raw.Records[n-1].ID, true}
	}
	p.Position = to
	return p
}

// cursor is the Cursor of a page.
type cursor struct {
	no      int      // number of the page, from 1
	before  Position // position before the page was read
	numbers []int64  // numbers of all rows of the page
	upTo    []int    // for each record, the number of rows up to it
}

// after returns the position at which n records of the page are settled. With the last record,
// the rows after it are passed, too.
func (c *cursor) after(n int) Position {
	switch n {
	case len(c.upTo): // first: a page without records passes all rows
		return c.before.Seen(c.numbers)
	case 0:
		return c.before
	default:
		return c.before.Seen(c.numbers[:c.upTo[n-1]])
	}
}

// Epoch implements driver.Session.
func (s *session) Epoch() int64 { return s.epoch }

// Moved implements driver.Moved.
func (s *session) Moved() driver.ServerChange { return s.moved }

// Read implements driver.Session. It changes state only after everything that can fail: after an
// error the same rows are read again.
func (s *session) Read(ctx context.Context, limit int) (driver.Page, error) {
	if limit < 1 {
		return driver.Page{}, outbox.ConfigError("limit", limit, "must be positive")
	}
	s.mu.Lock()
	at := s.read
	s.mu.Unlock()
	s.closeGaps(ctx, at.Gaps)
	for {
		raw, err := s.readRaw(ctx, at, limit)
		if err != nil {
			return driver.Page{}, err
		}
		page, c := s.choose(at.Position, raw)
		after := at.behind(c.after(len(c.upTo)), raw)
		if len(page.Records) > 0 {
			return s.handOut(ctx, page, c, after)
		}
		at = after
		if !raw.Full {
			return driver.Page{}, s.nothingNew(ctx, at)
		}
	}
}

func (s *session) readRaw(ctx context.Context, at place, limit int) (raw RawPage, err error) {
	err = s.reading.Use(ctx, func(conn *sql.Conn) error {
		if raw, err = s.log.readPage(ctx, conn, s.server, at.Position, limit); err != nil {
			return fmt.Errorf("leat: page after record %d: %w", at.Last, sqlstore.Answered(err))
		}
		return sqlstore.Answered(s.checkLife(ctx, conn, at))
	})
	return raw, err
}

// choose returns a page of those rows that are messages of the group's topics. It reuses the
// slice, and does not change its last element unless that is in the page.
func (s *session) choose(before Position, raw RawPage) (driver.Page, *cursor) {
	n := len(raw.Records)
	c := &cursor{before: before, numbers: make([]int64, n), upTo: make([]int, 0, n)}
	page := driver.Page{Records: raw.Records[:0]}
	for i := range raw.Records {
		r := &raw.Records[i]
		c.numbers[i] = r.Seq
		if r.Shard >= 0 && topics.MatchAny(s.reader.Topics, r.Topic) {
			page.Records = append(page.Records, *r) // overwrites earlier rows
			c.upTo = append(c.upTo, i+1)
		}
	}
	return page, c
}

// handOut makes the page durable, and records that it was read.
func (s *session) handOut(ctx context.Context, page driver.Page, c *cursor, after place) (driver.Page, error) {
	if s.fence {
		if err := s.write(ctx, "touch"); err != nil {
			return driver.Page{}, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages++
	c.no = s.pages
	page.Cursor = c
	s.read = after
	return page, nil
}

// nothingNew records rows that are not returned, and stores them as settled once everything that
// was read is settled.
func (s *session) nothingNew(ctx context.Context, at place) error {
	s.mu.Lock()
	s.read = at
	behind := s.allSettled() && !at.equals(s.settled)
	s.mu.Unlock()
	if !behind {
		return nil
	}
	return s.store(ctx, at.Position)
}

// allSettled reports whether the last page is completely settled. The caller holds mu.
func (s *session) allSettled() bool { return s.page == s.pages && s.at < 0 }

// write runs a statement that changes the group's row, on the writing connection.
func (s *session) write(ctx context.Context, statement string, args ...any) error {
	return s.writing.Use(ctx, func(conn *sql.Conn) error {
		next, err := s.writeOn(ctx, conn, statement, args...)
		if err == nil {
			s.wrote(next)
		}
		return err
	})
}

// writeOn runs a statement that ends with the row's next rev and the lease's condition:
// relay_group, owner, epoch, rev. Owner and epoch are not enough: a backup of the database that
// is newer than the lease has them, too, with an older position. The caller has the writing
// connection, and calls wrote with next after the commit.
func (s *session) writeOn(ctx context.Context, q sqlstore.Querier, statement string, args ...any) (next int64, err error) {
	s.mu.Lock()
	s.tried++
	rev, next := s.rev, s.tried
	s.mu.Unlock()
	args = append(args, next, []byte(s.reader.Group), []byte(s.owner), s.epoch, rev)
	n, err := s.log.Exec(ctx, q, statement, args...)
	if err == nil && n == 0 {
		err = driver.ErrLeaseLost
	}
	return next, err
}

// wrote records the rev of the row.
func (s *session) wrote(rev int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rev = max(s.rev, rev)
}

// Advance implements driver.Session. It stores the position at once.
func (s *session) Advance(ctx context.Context, p driver.Page, n int) error {
	to, err := s.settle(p, n)
	if err != nil || to.cursor == nil {
		return err
	}
	if err := s.store(ctx, to.Position); err != nil {
		return err
	}
	s.note(to)
	return nil
}

// settling is the result of a call that moves the position.
type settling struct {
	Position

	cursor *cursor
	n      int
	before int // records of the page that were settled already
}

// settle returns the result of settling the first n records of p, and changes nothing.
func (s *session) settle(p driver.Page, n int) (settling, error) {
	c, ok := p.Cursor.(*cursor)
	switch {
	case n < 0 || n > len(p.Records):
		return settling{}, fmt.Errorf("leat: advance by %d of a page of %d records", n, len(p.Records))
	case !ok && len(p.Records) == 0:
		return settling{}, nil // an empty page
	case !ok || len(c.upTo) != len(p.Records):
		return settling{}, fmt.Errorf("leat: advance: page with a foreign cursor %T", p.Cursor)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	to := settling{cursor: c, n: n}
	switch {
	case s.page > c.no || s.page == c.no && s.at < 0:
		to.before = len(p.Records)
	case s.page == c.no:
		to.before = s.at
	}
	if to.before >= n {
		to.Position = s.settled // repeated: stored once more, so that a lost lease is noticed
	} else {
		to.Position = c.after(n)
	}
	return to, nil
}

// note records what was stored.
func (s *session) note(to settling) {
	if to.before >= to.n {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled, s.page, s.at = to.Position, to.cursor.no, to.n
	if to.n == len(to.cursor.upTo) {
		s.at = -1 // the page is completely settled
	}
}

// store writes the position.
func (s *session) store(ctx context.Context, at Position) error {
	err := s.write(ctx, "advance", at.Last, []byte(EncodeGaps(at.Gaps)))
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.settled = at
	}
	return err
}

// Renew implements driver.Session.
func (s *session) Renew(ctx context.Context, ttl time.Duration) error {
	if ttl < time.Millisecond {
		return outbox.ConfigError("ttl", ttl, "must be at least 1ms")
	}
	err := s.write(ctx, "renew", ttl.Microseconds(), ttl.Microseconds())
	if err != nil && !errors.Is(err, driver.ErrLeaseLost) {
		err = errors.Join(err, s.Lost()) // without its connection it has lost the lease, too
	}
	return err
}

// Release implements driver.Session. It works on the pool: the session's connections may be
// broken. Our owner and epoch identify us, so rev does not matter. The position past rows that
// are not returned is stored by now.
func (s *session) Release(ctx context.Context) error {
	s.reading.Close()
	s.writing.Close()
	defer s.file.Unlock()
	return s.log.Change(ctx, func(tx *sql.Tx) error {
		_, err := s.log.Exec(ctx, tx, "release", []byte{}, []byte(s.reader.Group), []byte(s.owner), s.epoch)
		return err
	})
}
