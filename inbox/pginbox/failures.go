package pginbox

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/internal/storable"
)

// failures is what both kinds of inbox do about messages whose handler fails. All
// of it happens on connections that are borrowed for the moment, apart from the
// handler's transaction, and never while a delivery holds another.
type failures struct {
	claims *claims
	db     pgmigrate.DB
	sql    map[string]string

	// attemptCommit is the synchronous_commit of the transactions that count
	// attempts, NULL for the session's.
	attemptCommit *string

	mu      sync.Mutex
	settled []pgtype.UUID // ids whose attempts can be forgotten
}

func newFailures(c *claims, cfg Config, db pgmigrate.DB) (*failures, error) {
	f := &failures{claims: c, db: db}
	if !cfg.SyncAttempts {
		off := pgclaim.Async
		f.attemptCommit = &off
	}
	var err error
	f.sql, err = sqlfile.LoadAll(statementFiles, cfg.schema().Names().Render,
		"attempt", "attempt_range", "attempt_batch", "attempt_batch_range",
		"attempt_fail", "attempt_withdraw", "attempt_forget", "attempt_prune",
		"park_head", "park", "redrive_pick", "redrive_claim", "redrive_next", "redrive_fail", "redrive_orphans",
		"note", "noted", "note_prune", "audit_prune", "parked_list", "parked_first", "parked_redrive", "parked_drop", "audit_list",
	)
	return f, err
}

// lend calls use with a connection and the consumer's number, which it registers.
func (f *failures) lend(ctx context.Context, use func(conn *pgx.Conn, number int16) error) error {
	return f.with(ctx, f.claims.number, use)
}

// look is lend for operators: it registers nothing, and returns ErrUnknownConsumer.
func (f *failures) look(ctx context.Context, use func(conn *pgx.Conn, number int16) error) error {
	return f.with(ctx, f.claims.Known, use)
}

func (f *failures) with(
	ctx context.Context, find func(ctx context.Context, conn *pgx.Conn) (int16, error), use func(conn *pgx.Conn, number int16) error,
) error {
	return pgclaim.Explain(f.db.Use(ctx, func(conn *pgx.Conn) error {
		number, err := find(ctx, conn)
		if err != nil {
			return err
		}
		return use(conn, number)
	}))
}

// locked runs work in a transaction that holds the lock of a key, and that is
// durable when it returns. Read committed, so that each statement of work sees
// what was committed before it got the lock: lock, then look.
func (f *failures) locked(ctx context.Context, conn *pgx.Conn, key driver.Key, work func(tx pgx.Tx) error) error {
	mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, conn, mode, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`)
		if hash := f.hash(key); hash.Valid {
			batch.Queue(`SELECT pg_advisory_xact_lock($1::bigint)`, hash.Int64)
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return work(tx)
	})
}

// hash is the stored hash of a key, and the key's lock. It is NULL for a message
// without an order. It goes by the topic as it is stored: a redrive knows no other.
func (f *failures) hash(key driver.Key) pgtype.Int8 {
	if key.Name == "" {
		return pgtype.Int8{}
	}
	return pgtype.Int8{Int64: keyhash.Lock("inbox key", f.claims.Table, f.claims.Name, storable.Text(key.Topic), key.Name), Valid: true}
}

// orNull returns the bytes of text, or NULL where it is empty.
func orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// exec runs a statement by its name.
func (f *failures) exec(ctx context.Context, name string, args ...any) (n int64, err error) {
	err = f.lend(ctx, func(conn *pgx.Conn, number int16) error {
		tag, err := conn.Exec(ctx, f.sql[name], append([]any{number}, args...)...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
