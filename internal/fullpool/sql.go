package fullpool

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"time"
)

// OfSQL is New for a pool of database/sql.
func OfSQL(db *sql.DB, log *slog.Logger) *Pool {
	size := func() Size {
		s := db.Stats()
		return Size{s.InUse, s.MaxOpenConnections}
	}
	return New("SetMaxOpenConns", size, func() int { return db.Stats().MaxOpenConnections }, log)
}

// openTimeout bounds the opening of a connection.
const openTimeout = 5 * time.Second

// resizing is held while a database/sql pool is resized. Several inboxes can share a pool.
var resizing sync.Mutex //nolint:gochecknoglobals // the pool is the caller's, and holds nothing of ours

// SQL is the Watch on a delivery that has a connection of a pool of database/sql.
type SQL struct {
	watch Watch
	db    *sql.DB
	grown bool // under the lock of watch, until its end
}

// Begin begins the watch over a delivery that has taken a connection of db, whose Pool is p.
func (s *SQL) Begin(p *Pool, db *sql.DB) {
	s.db = db
	p.Watch(&s.watch, s)
}

// End is Watch.End. It may be called twice.
func (s *SQL) End(give func() error) error {
	return s.watch.End(func() error {
		err := give()
		if s.grown {
			s.grown = false
			s.resize(-1)
		}
		return err
	})
}

// Grow implements Grower. The new size alone opens no connection for those that wait: the pool
// hands them a connection that is returned.
func (s *SQL) Grow() bool {
	if s.grown = s.resize(1); s.grown {
		ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
		defer cancel()
		if conn, err := s.db.Conn(ctx); err == nil { // else the database is unavailable
			_ = conn.Close()
		}
	}
	return s.grown
}

// resize changes the size by n. It leaves a pool of one connection alone: SQLite in memory is
// another database on each connection.
func (s *SQL) resize(n int) bool {
	resizing.Lock()
	defer resizing.Unlock()
	most := s.db.Stats().MaxOpenConnections
	if most <= 1 {
		return false
	}
	s.db.SetMaxOpenConns(most + n)
	return true
}
