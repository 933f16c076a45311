package sqloutbox

import (
	"context"
	"database/sql"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
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
	// gapsAtOnce bounds the gaps that one Read closes.
	gapsAtOnce = 16
	// closedNumber is the shard of a row that closes a gap.
	closedNumber = -1
)

// aging remembers which numbers were known at two moments that lie gapAge apart.
type aging struct {
	since         time.Time
	recent, older int64
}

// old returns the number up to which gaps are at least gapAge old.
func (a *aging) old(now time.Time, last int64) int64 {
	if now.Sub(a.since) >= gapAge {
		a.since, a.older, a.recent = now, a.recent, last
	}
	return a.older
}

// closeGaps closes old gaps if there are many.
func (s *session) closeGaps(ctx context.Context, gaps []span) error {
	s.mu.Lock()
	old := s.aging.old(time.Now(), s.read.last)
	s.mu.Unlock()
	if len(gaps) <= manyGaps {
		return nil
	}
	return s.writing.use(ctx, func(conn *sql.Conn) error {
		done := 0
		for _, g := range gaps {
			if done == gapsAtOnce || g.to > old {
				return nil
			}
			if g.to-g.from >= widestGap {
				continue
			}
			if _, err := s.source.ob.closeGap(ctx, conn, g); err != nil {
				return err
			}
			done++
		}
		return nil
	})
}

// closeGap closes a gap unless a transaction is at one of its numbers, and reports whether
// it has. Without the look, the INSERT would wait for that transaction.
func (o *Outbox) closeGap(ctx context.Context, q querier, g span) (closed bool, err error) {
	if !o.dialect.OneWriter {
		if _, err := numbers(ctx, q, o.sql["gap_look"], g.from, g.to); sqldialect.Locked(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	for g.from <= g.to {
		n := int(min(g.to-g.from+1, maxChunkRows))
		var args []any
		for i := range n {
			none := []byte{}
			args = append(args, g.from+int64(i), closedNumber, none, none, none, none, none, none)
		}
		if _, err := q.ExecContext(ctx, o.sql.rows("gap_close", n), args...); sqldialect.Locked(err) {
			return false, nil
		} else if err != nil {
			return false, err
		}
		g.from += int64(n)
	}
	return true, nil
}
