package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Gaps are closed to keep their set short and to unblock retention; correctness does not depend
// on it. A row with shard -1 is inserted for each number. The primary key then makes it
// impossible to use the number later. A producer that has drawn it and is late gets an error, and
// no message is lost.

const (
	// manyGaps is the number of gaps from which a session closes some.
	manyGaps = 64
	// widestGap is the widest gap that a session closes. A wider one is a jump of the counter,
	// and costs as little as a narrow one.
	widestGap = 1000
	// gapAge is how long a gap is left to its transaction before the session tries to close it.
	gapAge = 10 * time.Second
	// gapsAtOnce and numbersAtOnce bound the gaps that one Read tries to close, and the
	// numbers in them.
	gapsAtOnce    = 500
	numbersAtOnce = 1000
	// closingsAtOnce bounds its tries: if gaps cannot be closed together, each half is tried.
	closingsAtOnce = 32
	// closingTime is the time after which it leaves the rest.
	closingTime = time.Second
	// stormGaps is the number of gaps that make a storm. They are tried after stormAge: in gapAge
	// the set would grow too much.
	stormGaps = 1000
	stormAge  = time.Second
	// gapsPause is the time between two passes over the old gaps.
	gapsPause = time.Second
	// closedNumber is the shard of a row that closes a gap.
	closedNumber = -1
)

// aging remembers which numbers were known at two moments that are gapAge apart, or stormAge in a
// storm.
type aging struct {
	since         time.Time
	recent, older int64

	next  int64     // where the pass over old gaps continues
	pause time.Time // until the next pass
}

// pick returns the gaps that a Read tries to close: the old ones part by part, so that those that
// cannot be closed do not keep the others from their turn.
func (a *aging) pick(now time.Time, gaps []Span, last int64) (picked []Span) {
	age := gapAge
	if len(gaps) > stormGaps {
		age = stormAge
	}
	old := a.old(now, last, age)
	if len(gaps) <= manyGaps || now.Before(a.pause) {
		return nil
	}
	room := int64(numbersAtOnce)
	for _, g := range gaps {
		width := g.To - g.From + 1
		switch {
		case g.To > old:
			a.next, a.pause = 0, now.Add(gapsPause)
			return picked
		case g.From < a.next || width > widestGap:
		case len(picked) == gapsAtOnce, width > room:
			a.next = g.From
			return picked
		default:
			picked = append(picked, g)
			room -= width
		}
	}
	a.next, a.pause = 0, now.Add(gapsPause)
	return picked
}

// old returns the number up to which gaps have an age.
func (a *aging) old(now time.Time, last int64, age time.Duration) int64 {
	if now.Sub(a.since) >= age {
		a.since, a.older, a.recent = now, a.recent, last
	}
	return a.older
}

// closeGaps closes old gaps if there are many. Its errors do not fail the Read. It uses the
// reading connection, whose statements time out soon on a lock: Renew needs the other one.
func (s *session) closeGaps(ctx context.Context, gaps []Span) {
	s.mu.Lock()
	picked := s.aging.pick(time.Now(), gaps, s.read.Last)
	s.mu.Unlock()
	if len(picked) == 0 {
		return
	}
	err := s.reading.Use(ctx, func(conn *sql.Conn) error {
		// A replication may have been started after the relay.
		err := sqlstore.RefuseReplica(ctx, conn, s.log.Dialect)
		if err != nil && !errors.Is(err, sqlstore.ErrReplicaUnknown) {
			return err
		}
		c := closing{log: s.log, conn: conn, left: closingsAtOnce, until: time.Now().Add(closingTime)}
		for part := range slices.Chunk(picked, MaxSpans) {
			if err := c.close(ctx, part); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.warnGaps(ctx, err)
	}
}

// closing is the budget of one Read for closing gaps.
type closing struct {
	log   *Log
	conn  *sql.Conn
	left  int
	until time.Time
}

// close closes gaps together. If a transaction has a lock on one of their numbers, it tries each half.
func (c *closing) close(ctx context.Context, gaps []Span) error {
	if c.left == 0 || !time.Now().Before(c.until) {
		return nil // the next pass tries again
	}
	c.left--
	closed, err := c.log.CloseGaps(ctx, c.conn, gaps)
	if err != nil || closed || len(gaps) == 1 {
		return err
	}
	half := len(gaps) / 2
	if err := c.close(ctx, gaps[:half]); err != nil {
		return err
	}
	return c.close(ctx, gaps[half:])
}

// warnGaps logs once per session that gaps cannot be closed.
func (s *session) warnGaps(ctx context.Context, err error) {
	s.mu.Lock()
	before := s.warned
	s.warned = before || ctx.Err() == nil
	s.mu.Unlock()
	if !before && ctx.Err() == nil {
		s.log.logger.WarnContext(ctx, "gaps of the log are not closed, and are looked into at each read: "+
			"a relay needs SELECT, INSERT and UPDATE on the log of the primary", slog.String("group", s.reader.Group), slog.Any("error", err))
	}
}

// CloseGaps closes gaps, at most MaxSpans, unless a transaction has a lock on one of their
// numbers, and reports whether it has closed all. Without the check, the INSERT would wait for
// that transaction.
func (l *Log) CloseGaps(ctx context.Context, q sqlstore.Querier, gaps []Span) (closed bool, err error) {
	if !l.Dialect.OneWriter {
		where, args := Within(gaps)
		if _, err := sqlstore.Column[int64](ctx, q, l.SQL.With("gap_look", where), args...); sqldialect.Locked(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	var args []any
	rows := 0
	insert := func() error {
		_, err := q.ExecContext(ctx, l.SQL.Rows("gap_close", rows), args...)
		args, rows = args[:0], 0
		return err
	}
	none := []byte{}
	for _, g := range gaps {
		for n := g.From; n <= g.To && err == nil; n++ {
			args = append(args, n, closedNumber, none, none, none, none, none, none)
			if rows++; rows == MaxRows {
				err = insert()
			}
		}
	}
	if err == nil && rows > 0 {
		err = insert()
	}
	if sqldialect.Locked(err) {
		return false, nil
	}
	return err == nil, err
}
