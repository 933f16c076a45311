package sqllog

import (
	"context"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/driver"
)

// GroupRow is the row of a group: its lease and its position.
type GroupRow struct {
	Owner string
	Epoch int64
	Rev   int64         // grows with each write of a relay
	Left  time.Duration // remaining time of the lease; 0 if its holder has died
	Now   time.Time
	At    Position
	// Topics are the patterns with which At was reached, nil for all; Read is set if a relay has
	// stored them.
	Topics []string
	Read   bool
	// Server is the last change of the server on which the group is relayed.
	Server driver.ServerChange

	marked, dead bool // the holder has a lock; it has lost it
}

// Group reads the row of a group with a statement that selects it. It returns sql.ErrNoRows if
// there is none.
func (l *Log) Group(ctx context.Context, q sqlstore.Querier, statement, name string) (g GroupRow, err error) {
	var owner, gaps, topics, server, before []byte
	var left, now, last, changed int64
	err = q.QueryRowContext(ctx, l.SQL[statement], []byte(name)).Scan(&owner, &g.Epoch, &g.Rev, &left, &now, &last, &gaps, &topics, &server, &before, &changed)
	if err != nil {
		return g, err
	}
	g.Owner, g.Left, g.Now = string(owner), time.Duration(left)*time.Microsecond, sqlstore.Time(now)
	g.Read, g.Server = len(topics) > 0, serverChange(server, before, now-changed)
	if g.Topics, err = ParseTexts(topics); err != nil {
		return g, err
	}
	if g.At, err = ParsePosition(last, string(gaps)); err != nil {
		return g, err
	}
	return g, l.probe(ctx, q, name, &g)
}

// serverChange returns a change that was noticed some microseconds ago.
func serverChange(now, before []byte, micros int64) (change driver.ServerChange) {
	if len(before) > 0 {
		change = driver.ServerChange{Before: string(before), Now: string(now), Age: time.Duration(micros) * time.Microsecond}
	}
	return change
}
