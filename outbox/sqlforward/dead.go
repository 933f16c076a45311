package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
)

const (
	// gapsAtOnce bounds the gaps that are checked before one page, gapsPart is the part of them
	// if there are many: so they are removed at least as fast as they appear.
	gapsAtOnce, gapsPart = 16, 50
	// manyGaps is the number from which operators should know.
	manyGaps = 5000
	// gapsPause is the time between two rounds of checks.
	gapsPause = time.Second
)

// deadGaps returns gaps that will never be filled: they are older than GapAge, and no transaction
// has a lock on one of their numbers. An INSERT draws its numbers and locks its rows in one
// statement, so in between there is at most its wait for locks of others, which GapAge exceeds.
func (f *Forwarder) deadGaps(ctx context.Context, conn *sql.Conn) (dead []gap, err error) {
	if time.Since(f.looked) < gapsPause {
		return nil, nil
	}
	f.looked = time.Now()
	at, now, err := f.position(ctx, conn, f.sql["position_load"])
	if errors.Is(err, sql.ErrNoRows) || at.last < 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	f.warnOfMany(ctx, len(at.gaps))
	asked, most := 0, max(gapsAtOnce, len(at.gaps)/gapsPart)
	for _, g := range at.gaps {
		if now-g.since < f.cfg.GapAge.Microseconds() || g.from < f.next {
			continue
		}
		if asked++; asked > most {
			f.next = g.from // the next round continues here
			return dead, nil
		}
		if asked == 1 { // a replication may have been started after the Forwarder
			err := sqlstore.RefuseReplica(ctx, conn, f.dialect)
			if err != nil && !errors.Is(err, sqlstore.ErrReplicaUnknown) {
				return nil, err
			}
		}
		empty, err := f.empty(ctx, conn, g)
		if err != nil {
			return nil, err
		}
		if empty {
			dead = append(dead, g)
		}
	}
	f.next = 0
	return dead, nil
}

// empty reports whether a gap has no rows, and no transaction has a lock on one of its numbers.
func (f *Forwarder) empty(ctx context.Context, q querier, g gap) (bool, error) {
	var number int64
	err := q.QueryRowContext(ctx, f.sql["gap_look"], g.from, g.to).Scan(&number)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return true, nil
	case err == nil, sqldialect.Locked(err):
		return false, nil
	default:
		return false, err
	}
}

// warnOfMany logs once that there are many gaps: each look reads all of them.
func (f *Forwarder) warnOfMany(ctx context.Context, gaps int) {
	if gaps >= manyGaps && !f.warned {
		f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "many numbers of the forwarder's table are missing: transactions are open, or many are rolled back",
			slog.String("table", f.cfg.Table), slog.Int("gaps", gaps))
	}
	f.warned = gaps >= manyGaps/2 && (f.warned || gaps >= manyGaps)
}
