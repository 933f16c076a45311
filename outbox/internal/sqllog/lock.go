package sqllog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/driver"
)

// On MySQL and MariaDB a session locks the name of its owner (GET_LOCK) before it claims, on the
// connection that it writes with, and its owner is marked: the server gives the lock back when the
// connection ends. Whoever finds a marked lease held asks whether the lock is free. If it is, the
// holder has died, and the lease is taken by its owner and epoch. Owners are new for each try, so
// that a lock that is free stays so. Where locks are a node's own, no owner is marked.

// retry is how soon a standby asks again whether the holder of a marked lease lives.
const retry = 600 * time.Millisecond

const idLength = 36

// lockOf returns the lock of a marked owner, which has a 0 before its id: "" if it is not marked.
func lockOf(owner string) string {
	before, id := owner[:max(len(owner)-idLength, 0)], owner[max(len(owner)-idLength, 0):]
	if !strings.HasSuffix(before, "/0") {
		return ""
	}
	return "leat-" + id
}

// mark returns owner with the mark.
func mark(owner string) string {
	at := len(owner) - idLength
	return owner[:at] + "0" + owner[at:]
}

// lock locks the name of owner on conn, and returns the owner to claim as: marked, if that is of
// use.
func (l *Log) lock(ctx context.Context, conn *sql.Conn, owner string) (string, error) {
	var shared, locked sql.NullBool
	if err := conn.QueryRowContext(ctx, l.SQL["locks_are_shared"]).Scan(&shared); err != nil || !shared.Bool {
		return owner, err
	}
	marked := mark(owner)
	err := conn.QueryRowContext(ctx, l.SQL["lock"], lockOf(marked)).Scan(&locked)
	if err != nil || !locked.Bool {
		return owner, err
	}
	return marked, nil
}

// probe notes whether the holder of g has died, whose lease then has nothing left.
func (l *Log) probe(ctx context.Context, q sqlstore.Querier, g *GroupRow) error {
	name := lockOf(g.Owner)
	if g.Left <= 0 || name == "" || l.Dialect.OneWriter {
		return nil
	}
	var free sql.NullBool
	if err := q.QueryRowContext(ctx, l.SQL["lock_is_free"], name).Scan(&free); err != nil {
		return err
	}
	g.marked = true
	if g.dead = free.Bool; g.dead {
		g.Left = 0
	}
	return nil
}

var _ driver.Watched = (*session)(nil)

// Lost implements driver.Watched: the lease is lost with the connection that holds its lock. While
// that one is in use, its user will hear.
func (s *session) Lost() error {
	if s.log.Dialect.OneWriter {
		return nil
	}
	if err := s.writing.Gone(); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
	}
	return nil
}
