// Package pgpark handles failed messages for the inboxes in PostgreSQL: it counts attempts, parks
// messages and redrives them, and keeps notes and the audit. A Store does so for a consumer, an
// Admin for operators.
package pgpark

import (
	"context"
	"embed"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/internal/pgclaim"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/internal/sqlfile"
	"github.com/leat-go/leat/internal/storable"
)

//go:embed sql/*.sql
var statements embed.FS

// Inbox is the part of the inbox that parking needs.
type Inbox struct {
	// Consumer is the consumer of the messages, and Number returns its number, registering it if
	// necessary.
	Consumer pgclaim.Consumer
	Number   func(ctx context.Context, conn *pgx.Conn) (int16, error)
	// Lock is the advisory lock of a message.
	Lock func(id pgtype.UUID) int64
	// Ranged reports whether the id is in a range, as far as conn knows.
	Ranged func(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (bool, error)
	// Claim claims the message called id on conn.
	Claim func(ctx context.Context, conn pgclaim.Conn, id string) (driver.Unit, driver.Status, error)
}

// Store is the part of a driver.Store for messages whose handler fails. It works on connections
// that it borrows briefly, outside the handler's transaction, and never while the delivery holds
// another connection.
type Store struct {
	inbox Inbox
	db    pgmigrate.DB
	sql   map[string]string

	// attemptCommit is the synchronous_commit of the transactions that count
	// attempts, NULL for the session's.
	attemptCommit *string

	mu      sync.Mutex
	settled []pgtype.UUID // ids whose attempts can be forgotten
}

// New returns a Store. If syncAttempts is set, each attempt waits for the disk.
func New(in Inbox, db pgmigrate.DB, names pgmigrate.Names, syncAttempts bool) (*Store, error) {
	s := &Store{inbox: in, db: db}
	if !syncAttempts {
		off := pgclaim.Async
		s.attemptCommit = &off
	}
	var err error
	s.sql, err = sqlfile.LoadAll(statements, names.Render,
		"attempt", "attempt_range", "attempt_batch", "attempt_batch_range",
		"attempt_fail", "attempt_withdraw", "attempt_forget",
		"park_head", "park", "redrive_pick", "redrive_claim", "redrive_next", "redrive_fail", "redrive_orphans", "redrive_hasten", "queued_keys",
		"note", "noted",
	)
	return s, err
}

// lend calls use with a connection and the consumer's number, which it registers.
func (s *Store) lend(ctx context.Context, use func(conn *pgx.Conn, number int16) error) error {
	return pgclaim.Explain(s.db.Use(ctx, func(conn *pgx.Conn) error {
		number, err := s.inbox.Number(ctx, conn)
		if err != nil {
			return err
		}
		return use(conn, number)
	}))
}

// locked runs work in a transaction that holds the lock of a key, if there is one, and that is
// durable when locked returns. It is read committed, so that each statement of work sees
// everything committed before the lock was taken: lock, then look.
func locked(ctx context.Context, conn *pgx.Conn, lock pgtype.Int8, work func(tx pgx.Tx) error) error {
	mode := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	return pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(mode), func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(`SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'`)
		if lock.Valid {
			batch.Queue(`SELECT pg_advisory_xact_lock($1::bigint)`, lock.Int64)
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return work(tx)
	})
}

// hash is hashOf for the Store's consumer.
func (s *Store) hash(key driver.Key) pgtype.Int8 {
	return hashOf(s.inbox.Consumer, key)
}

// hashOf is the stored hash of a key, and the key's lock. It is NULL for a message without an ordering key.
// It is computed from the stored form of the topic, since a redrive has no other form.
func hashOf(c pgclaim.Consumer, key driver.Key) pgtype.Int8 {
	if key.Name == "" {
		return pgtype.Int8{}
	}
	return pgtype.Int8{Int64: keyhash.Lock("inbox key", c.Table, c.Name, storable.Text(key.Topic), key.Name), Valid: true}
}

// promote makes the first message of a key due, if none is before it. The transaction holds the
// lock of the key.
func promote(ctx context.Context, tx pgx.Tx, statement string, c pgclaim.Consumer, number pgtype.Int2, key driver.Key) error {
	hash := hashOf(c, key)
	if !hash.Valid {
		return nil
	}
	_, err := tx.Exec(ctx, statement, number, hash, []byte(key.Name))
	return err
}

// orNull returns the bytes of text, or NULL if it is empty.
func orNull(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// exec runs a statement by its name.
func (s *Store) exec(ctx context.Context, name string, args ...any) (n int64, err error) {
	err = s.lend(ctx, func(conn *pgx.Conn, number int16) error {
		tag, err := conn.Exec(ctx, s.sql[name], append([]any{number}, args...)...)
		n = tag.RowsAffected()
		return err
	})
	return n, err
}
