package pgpin

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// SQL is Sessions of database/sql on pgx's driver, and the Address of its connections.
type SQL struct {
	db   *sql.DB
	last atomic.Pointer[pgx.ConnConfig] // of a connection of db; nil if not known, or out of date
}

// OfSQL returns the sessions of db, whose driver is pgx's.
func OfSQL(db *sql.DB) *SQL { return &SQL{db: db} }

// giveBackTimeout bounds the close of a session that is unfit for reuse.
const giveBackTimeout = 5 * time.Second

// held is a session that db lends.
type held struct {
	conn  *pgx.Conn
	free  chan struct{} // closed when the session may go back
	ended chan struct{} // closed when it has
}

// hold takes a session out of the pool of db. A goroutine waits in Raw until it is released: the
// underlying connection may be used only inside Raw.
func (s *SQL) hold(ctx context.Context) (*held, error) {
	pooled, err := s.db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	h := &held{free: make(chan struct{}), ended: make(chan struct{})}
	got := make(chan error, 2)
	go func() {
		defer close(h.ended)
		got <- pooled.Raw(func(driverConn any) error {
			own, ok := driverConn.(*stdlib.Conn)
			if !ok {
				return fmt.Errorf("leat: database/sql connection is a %T, want pgx's driver", driverConn)
			}
			h.conn = own.Conn()
			got <- nil
			<-h.free
			return fit(ctx, h.conn)
		})
		_ = pooled.Close() // Raw has closed it if it was unfit
	}()
	if err := <-got; err != nil {
		<-h.ended
		return nil, err
	}
	if s.last.Load() == nil {
		s.last.Store(h.conn.Config())
	}
	return h, nil
}

// fit closes a session that was changed since it was lent, and keeps the pool from lending it
// again.
func fit(ctx context.Context, conn *pgx.Conn) error {
	if !conn.IsClosed() && !conn.PgConn().IsBusy() && conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	_ = conn.Close(ctx) // best effort: the server ends the session all the same
	return driver.ErrBadConn
}

// release gives the session back.
func (h *held) release() {
	close(h.free)
	<-h.ended
}

// Use implements Sessions.
func (s *SQL) Use(ctx context.Context, use func(conn *pgx.Conn) error) error {
	h, err := s.hold(ctx)
	if err != nil {
		return err
	}
	defer h.release()
	return use(h.conn)
}

// Begin implements Sessions.
func (s *SQL) Begin(ctx context.Context) (pgx.Tx, error) {
	return s.BeginTx(ctx, pgx.TxOptions{})
}

// BeginTx implements Sessions.
func (s *SQL) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	h, err := s.hold(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := h.conn.BeginTx(ctx, opts)
	if err != nil {
		h.release()
		return nil, err
	}
	return &heldTx{Tx: tx, release: sync.OnceFunc(h.release)}, nil
}

// heldTx gives its session back when it ends.
type heldTx struct {
	pgx.Tx

	release func()
}

// Commit implements pgx.Tx.
func (t *heldTx) Commit(ctx context.Context) error {
	defer t.release()
	return t.Tx.Commit(ctx)
}

// Rollback implements pgx.Tx.
func (t *heldTx) Rollback(ctx context.Context) error {
	defer t.release()
	return t.Tx.Rollback(ctx)
}

// SendBatch implements Sessions.
func (s *SQL) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	h, err := s.hold(ctx)
	if err != nil {
		return failedBatch{err}
	}
	return &heldBatch{BatchResults: h.conn.SendBatch(ctx, b), release: sync.OnceFunc(h.release)}
}

// heldBatch gives its session back when it is closed.
type heldBatch struct {
	pgx.BatchResults

	release func()
}

// Close implements pgx.BatchResults.
func (b *heldBatch) Close() error {
	defer b.release()
	return b.BatchResults.Close()
}

// failedBatch is the result of a batch that was not sent.
type failedBatch struct{ err error }

// Exec implements pgx.BatchResults.
func (b failedBatch) Exec() (tag pgconn.CommandTag, err error) { return tag, b.err }

// Query implements pgx.BatchResults.
func (b failedBatch) Query() (pgx.Rows, error) { return nil, b.err }

// QueryRow implements pgx.BatchResults.
func (b failedBatch) QueryRow() pgx.Row { return first{err: b.err} }

// Close implements pgx.BatchResults.
func (b failedBatch) Close() error { return b.err }

// Tx implements pgx.BatchResults.
func (failedBatch) Tx() pgx.Tx { return nil }
