package sqllog

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/outbox/driver"
)

// On MySQL and MariaDB a session locks the name of its owner (GET_LOCK) before it claims, on the
// connection that it writes with, and its owner is marked: the server releases the lock when the
// connection ends. A session that finds a marked lease held checks whether the lock is free. If
// it is, the holder has died, and the lease is taken over by owner and epoch. Each try has a new
// owner name, so that a free lock stays free. On servers where locks are local to a node, or that refuse
// them in a session with settings (an unsharded keyspace of Vitess), owners are not marked.
//
// On SQLite the lock is on a file next to the database, one for each group, which the operating
// system releases when the process ends. The file stays. In-memory databases have none.

// retry is how soon a standby checks again whether the holder of a marked lease is alive.
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

// lock shows others that s is alive, and returns the owner name for the claim: marked, if that is
// useful.
func (s *session) lock(ctx context.Context, q sqlstore.Querier) (owner string, err error) {
	l, owner := s.log, s.owner
	if l.Dialect.OneWriter {
		if s.file, err = l.lockFile(ctx, q, s.reader.Group); s.file != nil {
			owner = mark(owner)
		}
		return owner, err
	}
	var shared, locked sql.NullBool
	if err := q.QueryRowContext(ctx, l.SQL["locks_are_shared"]).Scan(&shared); err != nil || !shared.Bool {
		return owner, err
	}
	marked := mark(owner)
	err = q.QueryRowContext(ctx, l.SQL["lock"], lockOf(marked)).Scan(&locked)
	if sqldialect.Number(err) == sqldialect.NotSupported {
		return owner, nil
	}
	if err != nil || !locked.Bool {
		return owner, err
	}
	return marked, nil
}

// lockFile locks the file of group, or returns nil if it is not available.
func (l *Log) lockFile(ctx context.Context, q sqlstore.Querier, group string) (*sqlstore.FileLock, error) {
	file, err := l.File(ctx, q)
	if err != nil || file == "" {
		return nil, err
	}
	hash := keyhash.Lock("lease", l.Table, group)
	lock, err := sqlstore.LockFile(fmt.Sprintf("%s-leat-%016x", file, uint64(hash)), file) //nolint:gosec // all bits are meant
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // without a lock the lease must expire
	}
	return lock, nil
}

// isFree reports whether the lock of a marked owner is free.
func (l *Log) isFree(ctx context.Context, q sqlstore.Querier, group, name string) (bool, error) {
	if l.Dialect.OneWriter {
		lock, err := l.lockFile(ctx, q, group)
		lock.Unlock()
		return lock != nil, err
	}
	var free sql.NullBool
	err := q.QueryRowContext(ctx, l.SQL["lock_is_free"], name).Scan(&free)
	return free.Bool, err
}

// probe finds out whether the holder of g has died, and sets the remaining time of its lease to
// zero then.
func (l *Log) probe(ctx context.Context, q sqlstore.Querier, group string, g *GroupRow) (err error) {
	name := lockOf(g.Owner)
	if g.Left <= 0 || name == "" {
		return nil
	}
	g.marked = true
	if g.dead, err = l.isFree(ctx, q, group, name); g.dead {
		g.Left = 0
	}
	return err
}

var _ driver.Watched = (*session)(nil)

// Lost implements driver.Watched: the lease is lost with the connection that holds its lock.
// While that connection is in use, its user gets the error.
func (s *session) Lost() error {
	if s.log.Dialect.OneWriter {
		if s.file != nil && !s.file.Held() {
			return fmt.Errorf("%w: another one has the lock on its file", driver.ErrLeaseLost)
		}
		return nil
	}
	if err := s.writing.Gone(); err != nil {
		return fmt.Errorf("%w: %w", driver.ErrLeaseLost, err)
	}
	return nil
}
