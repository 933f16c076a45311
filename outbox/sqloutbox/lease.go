package sqloutbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// groupRow is the row of a group: its lease and its position.
type groupRow struct {
	owner string
	epoch int64
	left  time.Duration // of the lease
	now   time.Time
	at    position
}

// group reads the row of a group by a statement that selects it. sql.ErrNoRows if it is
// not there.
func (o *Outbox) group(ctx context.Context, q querier, statement, name string) (g groupRow, err error) {
	var owner, gaps []byte
	var left, now, last int64
	err = q.QueryRowContext(ctx, o.sql[statement], []byte(name)).Scan(&owner, &g.epoch, &left, &now, &last, &gaps)
	if err != nil {
		return g, err
	}
	g.owner, g.left, g.now = string(owner), time.Duration(left)*time.Microsecond, micros(now)
	g.at, err = parsePosition(last, string(gaps))
	return g, err
}

// claimTries bounds the races of one Acquire with others that end, begin or remove the
// group.
const claimTries = 10

// claim takes the lease if it is free.
func (s *Source) claim(ctx context.Context, owner string, ttl time.Duration) (g groupRow, err error) {
	for range claimTries {
		err = s.ob.look(ctx, func(q querier) error {
			g, err = s.ob.group(ctx, q, "group", s.cfg.Group)
			return err
		})
		switch {
		case errors.Is(err, sql.ErrNoRows):
			err = s.begin(ctx)
		case err == nil && g.left > 0:
			return g, &driver.LeaseHeldError{Owner: g.owner, Remaining: g.left}
		case err == nil:
			var won bool
			if g, won, err = s.take(ctx, owner, ttl); won && err == nil {
				return g, nil
			}
		}
		if err != nil {
			return g, err
		}
	}
	return g, fmt.Errorf("%w: it changes hands all the time", driver.ErrLeaseHeld)
}

// take is a compare-and-set on the lease that has ended. Owners are new for each try.
func (s *Source) take(ctx context.Context, owner string, ttl time.Duration) (g groupRow, won bool, err error) {
	topics, err := json.Marshal(s.cfg.Topics)
	if err != nil {
		return g, false, err
	}
	err = s.ob.change(ctx, func(tx *sql.Tx) error {
		n, err := affected(tx.ExecContext(ctx, s.ob.sql["acquire"], []byte(owner), ttl.Microseconds(), topics, []byte(s.cfg.Group)))
		if won = n == 1; err != nil || !won {
			return err
		}
		if g, err = s.ob.group(ctx, tx, "group", s.cfg.Group); err != nil {
			return err
		}
		floor, err := s.ob.floor(ctx, tx)
		if err != nil {
			return err
		}
		g.at = g.at.from(floor) // of a group that no longer held history back
		return s.ob.checkAhead(ctx, tx, g.at)
	})
	return g, won, err
}

// floor returns the number up to which retention may have deleted.
func (o *Outbox) floor(ctx context.Context, q querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, o.sql["floor"]).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = errNoMeta
	}
	return n, err
}

var errNoMeta = errors.New("leat: the row of the outbox's meta table is missing")
