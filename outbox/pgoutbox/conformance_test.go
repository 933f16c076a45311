package pgoutbox_test

import (
	"context"
	"database/sql"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

func features() outboxtest.Features {
	return outboxtest.Features{LazyAdvance: true}
}

// TestConformance runs the suite of all outboxes through pgx.
func TestConformance(t *testing.T) {
	t.Parallel()
	outboxtest.Run(t, features(), newPgxSubject)
}

// TestConformance_SQL runs the same suite through database/sql.
//
//leat:level 2
func TestConformance_SQL(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "the same as through pgx, except Enqueue")
	outboxtest.Run(t, features(), func(t *testing.T) outboxtest.Subject {
		s := newSubject(t)
		return &sqlSubject{s, s.db.SQL(t)}
	})
}

// TestConformance_Relay runs the suite of outbox and relay together.
func TestConformance_Relay(t *testing.T) {
	t.Parallel()
	outboxtest.RunRelay(t, features(), newPgxSubject)
}

// TestConformance_CatchesUnorderedKeys is the negative control of the order checks: the same outbox
// without its locks fails them.
func TestConformance_CatchesUnorderedKeys(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"O5_KeyIsHeldUntilTheEnd", "O5_WaitingWriterGoesOn"} {
		check, ok := outboxtest.Find(name)
		require.True(t, ok)
		ob, db := newOutbox(t, pgoutbox.Config{UnorderedKeys: true})
		require.Error(t, check.Run(t.Context(), features(), &pgxSubject{subject{ob, ob.Admin(), db, t}}))
	}
}

// subject is an outbox in a database of its own.
type subject struct {
	*pgoutbox.Outbox
	operators

	db *testenv.Database
	t  *testing.T
}

// operators is the part of an outbox that operators use.
type operators interface {
	admin.Manager
}

func newSubject(t *testing.T) subject {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	return subject{ob, ob.Admin(), db, t}
}

var _ admin.Outbox = subject{}

// Source implements outboxtest.Subject.
func (s subject) Source(group string) driver.Source {
	src, err := s.Outbox.Source(pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
	if err != nil {
		panic(err) // the suite's groups are valid
	}
	return src
}

var _ outboxtest.ForeignHolder = subject{}

// HoldForeign implements outboxtest.ForeignHolder with one transaction in this database and one in
// another.
func (s subject) HoldForeign(ctx context.Context) (release func(), err error) {
	config := s.db.Pool.Config().ConnConfig
	config.Database = "postgres"
	elsewhere, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	here, err := pgx.Connect(ctx, s.db.URL)
	if err != nil {
		return nil, err
	}
	for conn, statement := range map[*pgx.Conn]string{
		elsewhere: "BEGIN; SELECT pg_current_xact_id()",
		here:      "CREATE TABLE foreign_work (id int); BEGIN; INSERT INTO foreign_work VALUES (1)",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return sync.OnceFunc(func() {
		_ = elsewhere.Close(context.Background())
		_ = here.Close(context.Background())
	}), nil
}

var _ outboxtest.ReadBlocker = subject{}

// BlockHeld implements outboxtest.ReadBlocker.
func (s subject) BlockHeld(ctx context.Context) (waits func(context.Context) error, release func(), err error) {
	return s.db.LockTable(ctx, "leat.outbox_held")
}

var _ outboxtest.ForeignWriter = subject{}

// WriteForeign implements outboxtest.ForeignWriter with rows inserted by hand.
func (s subject) WriteForeign(ctx context.Context) (payloads []string, err error) {
	for i, values := range []string{
		`'{"tenant": 7}', NULL, now()`, `'{"a": {"b": [1]}, "c": null}', NULL, now()`, `'[1]', NULL, now()`, `'"text"', NULL, now()`,
		`NULL, 'infinity', now()`, `NULL, '-infinity', now()`, `NULL, '20000-01-01', now()`, `NULL, now(), '-infinity'`,
	} {
		payloads = append(payloads, "foreign-"+strconv.Itoa(i))
		_, err := s.db.Pool.Exec(ctx, `INSERT INTO leat.outbox (id, shard, topic, payload, headers, occurred_at, created_at)
			VALUES (gen_random_uuid(), 1, 't', $1, `+values+`)`, []byte(payloads[i]))
		if err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

type pgxSubject struct{ subject }

func newPgxSubject(t *testing.T) outboxtest.Subject {
	t.Helper()
	return &pgxSubject{newSubject(t)}
}

// Begin implements outboxtest.Subject.
func (s *pgxSubject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.db.Pool.Begin(ctx)
	return &pgxTx{tx, s.Outbox}, err
}

type pgxTx struct {
	pgx.Tx

	ob *pgoutbox.Outbox
}

func (x *pgxTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return x.ob.Enqueue(ctx, x.Tx, msgs...)
}

func (x *pgxTx) Context(ctx context.Context) context.Context {
	return pgoutbox.ContextWithTx(ctx, x.Tx)
}

type sqlSubject struct {
	subject

	sql *sql.DB
}

// Begin implements outboxtest.Subject.
func (s *sqlSubject) Begin(ctx context.Context) (outboxtest.Tx, error) {
	tx, err := s.sql.BeginTx(context.WithoutCancel(ctx), nil)
	return &sqlTx{tx, s.Outbox}, err
}

type sqlTx struct {
	tx *sql.Tx
	ob *pgoutbox.Outbox
}

func (x *sqlTx) Enqueue(ctx context.Context, msgs ...outbox.Message) error {
	return x.ob.EnqueueSQL(ctx, x.tx, msgs...)
}

func (x *sqlTx) Context(ctx context.Context) context.Context {
	return pgoutbox.ContextWithSQLTx(ctx, x.tx)
}

func (x *sqlTx) Commit(context.Context) error { return x.tx.Commit() }

func (x *sqlTx) Rollback(context.Context) error { return x.tx.Rollback() }
