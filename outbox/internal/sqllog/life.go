package sqllog

import (
	"cmp"
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Numbers are only meaningful in one life of the log. It is named by a row of the log itself,
// below all numbers, so that everything that empties or replaces the table removes that row:
// TRUNCATE, DELETE, DROP. The meta table has the name of the life that positions and the floor
// belong to. See design 2.12.

// markNumber is the number of the row that names the life of the log. No statement that
// reads or deletes messages reaches it.
const markNumber = -1

// state is the stored state of the log at one moment.
type state struct {
	mark, life  string
	place, here string // the database in which the log was named, and that of the session
	floor, last int64
	id          []byte // of the row with a number; empty if its message was erased
	found       bool   // whether the row exists
}

// state reads the state, with the row that has number n. It fails if a server other than server answers; an empty
// server is not compared.
func (l *Log) state(ctx context.Context, q sqlstore.Querier, server string, n int64) (s state, err error) {
	var mark, life, place, here []byte
	err = q.QueryRowContext(ctx, l.SQL["life"], markNumber, n, n, server).Scan(&mark, &life, &s.floor, &place, &here, &s.id, &s.found, &s.last)
	if sqlstore.IsNoRows(err) {
		err = ErrNoMeta
	}
	s.mark, s.life, s.place, s.here = string(mark), string(life), string(place), string(here)
	return s, err
}

// check refuses a log whose life is not life, and a position ahead of the log. The row that a
// position ends with exists, or was deleted, since nothing above the floor is deleted.
func (s *state) check(life string, at Position) error {
	if s.mark == "" {
		return basis.Refuse(basis.ErrLogRestarted, "the row that names its life is missing")
	}
	return cmp.Or(
		basis.Same(basis.ErrOtherDatabase, "the database", s.place, s.here),
		basis.Same(basis.ErrLogRestarted, "the life of the log", s.life, s.mark),
		basis.Same(basis.ErrLogRestarted, "the life of the log", life, s.life),
		basis.Reached(basis.ErrWentBack, "number", at.Last, max(s.last, s.floor)),
	)
}

// Life returns the name of the log's life. It refuses a log that has begun anew.
func (l *Log) Life(ctx context.Context, q sqlstore.Querier) (string, error) {
	s, err := l.state(ctx, q, "", 0)
	if err == nil {
		err = s.check(s.life, Position{})
	}
	return s.life, err
}

// CheckPosition refuses a position that belongs to another life of the log, or is ahead of it.
func (l *Log) CheckPosition(ctx context.Context, q sqlstore.Querier, at Position) error {
	s, err := l.state(ctx, q, "", 0)
	if err == nil {
		err = s.check(s.life, at)
	}
	return err
}

// isAnother reports whether the row that was read last differs from the one with its number now.
// A row whose message was erased has an empty id. Its number is still taken, so it cannot have
// been assigned again.
func (s *state) isAnother(at place) bool {
	if !s.found {
		return at.Last > s.floor
	}
	return len(s.id) > 0 && string(s.id) != at.id
}

// checkLife runs after the statements of a Read. If the session's log exists then, the statements
// have seen it, since a life that has ended does not come back. A restored copy has the same
// name; but then the row that was read last differs, if its number was assigned again.
func (s *session) checkLife(ctx context.Context, q sqlstore.Querier, at place) error {
	now, err := s.log.state(ctx, q, s.server, at.Last)
	if err == nil {
		err = now.check(s.life, at.Position)
	}
	if err == nil && at.known && now.isAnother(at) {
		err = basis.Refuse(basis.ErrNumberedTwice, fmt.Sprintf("number %d was message %.100q and is now %.100q", at.Last, at.id, now.id))
	}
	return Unusable(err)
}

// NewLife gives the log a new, unique name, and resets the floor if the numbers began anew. The
// caller holds the lock of the floor. It returns the floor.
func (l *Log) NewLife(ctx context.Context, q sqlstore.Querier, name string) (floor int64, err error) {
	s, err := l.state(ctx, q, "", 0)
	if err != nil {
		return 0, err
	}
	if s.mark == s.life && s.floor <= s.last {
		floor = s.floor
	}
	id, none := []byte(name), []byte{}
	if _, err := q.ExecContext(ctx, l.SQL["life_mark"], markNumber, closedNumber, id, none, none, none, none, none); err != nil {
		return 0, err
	}
	if _, err := q.ExecContext(ctx, l.SQL["life_rename"], id, markNumber); err != nil {
		return 0, err
	}
	_, err = q.ExecContext(ctx, l.SQL["life_new"], id, floor)
	return floor, err
}
