package sqllog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// Reader is a group with its settings for reading the log.
type Reader struct {
	Group  string
	Topics []string
	// Begin returns where a new group begins to read, or why it cannot.
	Begin func(ctx context.Context, q sqlstore.Querier) (Position, error)
}

// Acquire implements driver.Source.
func (l *Log) Acquire(ctx context.Context, r Reader, ttl time.Duration) (driver.Session, error) {
	if ttl < time.Millisecond {
		return nil, outbox.ConfigError("ttl", ttl, "must be at least 1ms")
	}
	owner, err := newOwner()
	if err != nil {
		return nil, err
	}
	s := &session{log: l, reader: r, owner: owner, at: -1}
	g, life, err := l.claim(ctx, s, ttl)
	if err != nil {
		s.writing.Close()
		s.file.Unlock()
		return nil, err
	}
	s.epoch, s.rev, s.tried, s.life, s.read, s.settled = g.Epoch, g.Rev, g.Rev, life, place{Position: g.At}, g.At
	s.moved = g.Server
	if err := s.open(ctx); err != nil {
		_ = s.Release(context.WithoutCancel(ctx)) // otherwise the lease expires
		return nil, err
	}
	return s, nil
}

// newOwner names a new holder of a lease.
func newOwner() (string, error) {
	id, err := ids.New()
	host, _ := os.Hostname() // for operators
	return storable.AtMost(host, 100) + "/" + id, err
}

// begin opens the connection that the session writes with, and locks its owner there.
func (s *session) begin(ctx context.Context) error {
	if s.writing.IsOpen() {
		return nil
	}
	err := s.writing.Open(ctx, s.log.Store)
	if err == nil {
		err = s.writing.Use(ctx, func(conn *sql.Conn) (err error) {
			return s.log.within(ctx, conn, func(q sqlstore.Querier) error {
				s.owner, err = s.lock(ctx, q)
				return err
			})
		})
	}
	return err
}

// within runs reads whose result must be current on a connection of a session: in a transaction,
// which read/write splitters send to the primary (rule R14). On SQLite there is nothing to split,
// and a transaction would wait for the writer.
func (l *Log) within(ctx context.Context, conn *sql.Conn, look func(q sqlstore.Querier) error) error {
	if l.Dialect.OneWriter {
		return look(conn)
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	return look(tx)
}

// open opens the session's other connection.
func (s *session) open(ctx context.Context) error {
	err := s.reading.Open(ctx, s.log.Store)
	if err == nil && !s.log.Dialect.OneWriter {
		err = s.reading.Use(ctx, func(conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, s.log.SQL["set_short_wait"]) // it only takes locks to close gaps
			return err
		})
	}
	if err == nil && !s.log.Dialect.OneWriter {
		err = s.writing.Use(ctx, func(conn *sql.Conn) error {
			return s.log.within(ctx, conn, func(q sqlstore.Querier) error {
				return q.QueryRowContext(ctx, s.log.SQL["needs_fence"]).Scan(&s.fence, &s.server)
			})
		})
	}
	return err
}

// claimTries bounds the retries of one Acquire after races with others that end, begin or remove
// the group.
const claimTries = 10

// claim takes the lease for s if it is free, or its holder has died.
func (l *Log) claim(ctx context.Context, s *session, ttl time.Duration) (g GroupRow, life string, err error) {
	r := s.reader
	for range claimTries {
		err = l.Look(ctx, func(q sqlstore.Querier) error {
			g, err = l.Group(ctx, q, "group", r.Group)
			return err
		})
		switch {
		case sqlstore.IsNoRows(err):
			err = l.begin(ctx, r)
		case err == nil && g.Left > 0:
			// The clock is that of the start of the statement: it may have seen a lease that was
			// taken after that.
			held := &driver.LeaseHeldError{Owner: g.Owner, Remaining: min(g.Left, ttl)}
			if g.marked {
				held.Retry = retry
			}
			return g, "", held
		case err == nil:
			if err = s.begin(ctx); err != nil {
				return g, "", err
			}
			change, err := l.changeTopics(ctx, r, &g)
			if err != nil {
				return g, "", err
			}
			var won bool
			if g, life, won, err = l.take(ctx, r, s.owner, g, ttl); won && err == nil {
				if change != nil {
					change.Log(ctx, l.logger)
				}
				return g, life, nil
			} else if err != nil {
				return g, "", err
			}
		}
		if err != nil {
			return g, "", err
		}
	}
	return g, "", fmt.Errorf("%w: it changes hands all the time", driver.ErrLeaseHeld)
}

// begin stores a new group, unless another relay has done so.
func (l *Log) begin(ctx context.Context, r Reader) error {
	var at Position
	err := l.Look(ctx, func(q sqlstore.Querier) (err error) {
		if _, err := l.Life(ctx, q); err != nil {
			return err // the floor is of another log
		}
		if err := l.renamed(ctx, q, r.Group); err != nil {
			return err
		}
		at, err = r.Begin(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	none := []byte{}
	return l.Change(ctx, func(tx *sql.Tx) error {
		_, err := l.Exec(ctx, tx, "group_new", []byte(r.Group), none, at.Last, []byte(EncodeGaps(at.Gaps)), none, none, none, none, at.Last)
		return err
	})
}

// renamed refuses a new group if that name was renamed to another one.
func (l *Log) renamed(ctx context.Context, q sqlstore.Querier, group string) error {
	groups, err := l.Groups(ctx, q)
	for _, g := range groups {
		if err == nil && slices.Contains(g.Former, group) {
			err = basis.Renamed(group, g.Name)
		}
	}
	return err
}

// take updates the lease if it is unchanged since before was read, and has expired or lost its holder. Each
// try has a new owner name.
func (l *Log) take(
	ctx context.Context, r Reader, owner string, before GroupRow, ttl time.Duration,
) (g GroupRow, life string, won bool, err error) {
	dead, deadEpoch := []byte{}, int64(-1) // match no holder
	if before.dead {
		dead, deadEpoch = []byte(before.Owner), before.Epoch
	}
	topics, err := json.Marshal(r.Topics)
	if err != nil {
		return g, "", false, err
	}
	err = l.Change(ctx, func(tx *sql.Tx) error {
		n, err := l.Exec(ctx, tx, "acquire", []byte(owner), ttl.Microseconds(), ttl.Microseconds(), topics, []byte(r.Group), dead, deadEpoch)
		if won = n == 1; err != nil || !won {
			return err
		}
		if g, err = l.Group(ctx, tx, "group", r.Group); err != nil {
			return err
		}
		now, err := l.state(ctx, tx, "", g.At.Last)
		if err != nil {
			return err
		}
		life = now.life
		if err := now.check(life, g.At); err != nil {
			return err
		}
		g.At = g.At.From(now.floor) // the group may have lost history: it no longer held it back
		return nil
	})
	return g, life, won, err
}
