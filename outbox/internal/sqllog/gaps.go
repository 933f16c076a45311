package sqllog

import (
	"context"
	"database/sql"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Gaps are closed to keep their set short and to let retention go on, never to be right:
// a row with shard -1 is inserted for each number. The primary key then makes it
// impossible that the number is ever used. A producer who has drawn it and comes late gets
// an error, and no message is lost.

const (
	// manyGaps is how many a session has before it closes some.
	manyGaps = 64
	// widestGap is how wide a gap is that a session closes. A wider one is a jump of the
	// counter, and costs as little as a narrow one.
	widestGap = 1000
	// gapAge is how long a transaction may have been at a gap before it is asked about.
	gapAge = 10 * time.Second
	// gapsAtOnce bounds the gaps that one Read tries to close.
	gapsAtOnce = 16
	// gapsPause is the time between two passes over the gaps that are old.
	gapsPause = time.Second
	// closedNumber is the shard of a row that closes a gap.
	closedNumber = -1
)

// aging remembers which numbers were known at two moments that lie gapAge apart.
type aging struct {
	since         time.Time
	recent, older int64

	next  int64     // where the pass over old gaps goes on
	pause time.Time // until the next pass
}

// pick returns the gaps that a Read tries to close: one part after the other of those that
// are old, so that those that cannot be closed keep none from its turn.
func (a *aging) pick(now time.Time, gaps []Span, last int64) (picked []Span) {
	old := a.old(now, last)
	if len(gaps) <= manyGaps || now.Before(a.pause) {
		return nil
	}
	for _, g := range gaps {
		switch {
		case g.To > old:
			a.next, a.pause = 0, now.Add(gapsPause)
			return picked
		case g.From < a.next || g.To-g.From >= widestGap:
		case len(picked) == gapsAtOnce:
			a.next = g.From
			return picked
		default:
			picked = append(picked, g)
		}
	}
	a.next, a.pause = 0, now.Add(gapsPause)
	return picked
}

// old returns the number up to which gaps are at least gapAge old.
func (a *aging) old(now time.Time, last int64) int64 {
	if now.Sub(a.since) >= gapAge {
		a.since, a.older, a.recent = now, a.recent, last
	}
	return a.older
}

// closeGaps closes old gaps if there are many. A Read does not fail for it.
func (s *session) closeGaps(ctx context.Context, gaps []Span) {
	s.mu.Lock()
	picked := s.aging.pick(time.Now(), gaps, s.read.Last)
	s.mu.Unlock()
	for _, g := range picked {
		err := s.writing.Use(ctx, func(conn *sql.Conn) error {
			_, err := s.log.CloseGap(ctx, conn, g)
			return err
		})
		if err != nil {
			s.warnGaps(ctx, err)
			return
		}
	}
}

// warnGaps says once a session that gaps cannot be closed.
func (s *session) warnGaps(ctx context.Context, err error) {
	s.mu.Lock()
	before := s.warned
	s.warned = before || ctx.Err() == nil
	s.mu.Unlock()
	if !before && ctx.Err() == nil {
		s.log.logger.WarnContext(ctx, "gaps of the log cannot be closed, and are looked into at each read: "+
			"a relay needs SELECT, INSERT and UPDATE on the log", slog.String("group", s.reader.Group), slog.Any("error", err))
	}
}

// CloseGap closes a gap unless a transaction is at one of its numbers, and reports whether
// it has. Without the look, the INSERT would wait for that transaction.
func (l *Log) CloseGap(ctx context.Context, q sqlstore.Querier, g Span) (closed bool, err error) {
	if !l.Dialect.OneWriter {
		if _, err := sqlstore.Column[int64](ctx, q, l.SQL["gap_look"], g.From, g.To); sqldialect.Locked(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	for g.From <= g.To {
		n := int(min(g.To-g.From+1, MaxRows))
		var args []any
		for i := range n {
			none := []byte{}
			args = append(args, g.From+int64(i), closedNumber, none, none, none, none, none, none)
		}
		if _, err := q.ExecContext(ctx, l.SQL.Rows("gap_close", n), args...); sqldialect.Locked(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		g.From += int64(n)
	}
	return true, nil
}
