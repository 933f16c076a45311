package sqllog

import (
	"cmp"
	"context"
	"fmt"

	"github.com/leat-go/leat/internal/basis"
	"github.com/leat-go/leat/internal/sqlstore"
)

// Numbers mean something in one life of the log. It is named by a row of the log itself,
// below all numbers, so that whatever empties or replaces the table takes the row along:
// TRUNCATE, DELETE, DROP. The meta table keeps the name of the life that positions and the
// floor belong to. See design 2.12.

// markNumber is the number of the row that names the life of the log. No statement that
// reads or deletes messages reaches it.
const markNumber = -1

// state is what is stored of the log, of one moment.
type state struct {
	mark, life  string
	place, here string // the database in which the log was named, and that of the session
	floor, last int64
	id          []byte // of the row with a number; empty if its message was erased
	found       bool   // the row is there
}

// state fails if another server than server answers; an empty server is not compared.
func (l *Log) state(ctx context.Context, q sqlstore.Querier, server string, n int64) (s state, err error) {
	var mark, life, place, here []byte
	err = q.QueryRowContext(ctx, l.SQL["life"], markNumber, n, n, server).Scan(&mark, &life, &s.floor, &place, &here, &s.id, &s.found, &s.last)
	if sqlstore.IsNoRows(err) {
		err = ErrNoMeta
	}
	s.mark, s.life, s.place, s.here = string(mark), string(life), string(place), string(here)
	return s, err
}

// check refuses a log that is not the one which life names, and a position ahead of it. The
// row that a position ends with is there, or was deleted, since nothing above the floor is.
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

// CheckPosition refuses a position that is not of the log's life, or ahead of it.
func (l *Log) CheckPosition(ctx context.Context, q sqlstore.Querier, at Position) error {
	s, err := l.state(ctx, q, "", 0)
	if err == nil {
		err = s.check(s.life, at)
	}
	return err
}

// isAnother reports whether the row that was read last is not the one with its number now. A row whose
// message was erased has an empty id. Its number is still taken, so that nobody was given it.
func (s *state) isAnother(at place) bool {
	if !s.found {
		return at.Last > s.floor
	}
	return len(s.id) > 0 && string(s.id) != at.id
}

// checkLife is asked behind the statements of a Read: what they have seen is of the
// session's log if that is there now, since a life that has ended does not come back. A copy
// that was put back has the same name: the row that was read last is another one then, if
// its number was given out again.
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

// NewLife gives the log a name that it has not had, and lets the floor begin anew if the
// numbers have. The caller holds the lock of the floor. It returns the floor.
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
