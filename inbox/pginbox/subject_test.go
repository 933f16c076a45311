package pginbox_test

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// subject is an inboxtest.Subject in a schema of its own: on pgx, or on
// database/sql where db is set.
type subject struct {
	env    *testenv.Database
	schema string        // quoted
	pool   *pgxpool.Pool // with two connections that the cable can cut
	db     *sql.DB       // likewise
	cfg    pginbox.Config

	operator *pgxpool.Pool // env's if it is nil

	cable *faultnet.Commits
}

// schemas counts them: a database a check would take longer than the checks.
var schemas atomic.Int64

// maker makes a subject on one of the drivers.
type maker func(testing.TB, *testenv.Database, pginbox.Config, ...func(*pgxpool.Config)) *subject

func newSubject(tb testing.TB, env *testenv.Database, cfg pginbox.Config, tune ...func(*pgxpool.Config)) *subject {
	tb.Helper()
	ctx := context.Background()
	cfg.Schema = `Subject "` + strconv.FormatInt(schemas.Add(1), 10) + `"`
	s := &subject{env: env, schema: pgx.Identifier{cfg.Schema}.Sanitize(), cfg: cfg, cable: &faultnet.Commits{}}

	config, err := pgxpool.ParseConfig(s.env.URL)
	require.NoError(tb, err)
	config.ConnConfig.DialFunc = s.cable.Dial
	config.ConnConfig.RuntimeParams["application_name"] = s.schema
	config.MaxConns = 2
	for _, f := range tune {
		f(config)
	}
	s.pool, err = pgxpool.NewWithConfig(ctx, config)
	require.NoError(tb, err)
	tb.Cleanup(s.pool.Close)

	in, err := pginbox.New(s.pool, "migrator", cfg)
	require.NoError(tb, err)
	require.NoError(tb, in.Migrate(ctx))
	_, err = env.Pool.Exec(ctx, `CREATE TABLE `+s.schema+`.effects (effect text); CREATE TABLE `+s.schema+`.enqueued (id text)`)
	require.NoError(tb, err)
	return s
}

func newSQLSubject(tb testing.TB, env *testenv.Database, cfg pginbox.Config, tune ...func(*pgxpool.Config)) *subject {
	tb.Helper()
	s := newSubject(tb, env, cfg, tune...)
	s.db = stdlib.OpenDB(*s.pool.Config().ConnConfig)
	s.db.SetMaxOpenConns(2)
	tb.Cleanup(func() { require.NoError(tb, s.db.Close()) })
	return s
}

func (s *subject) Open(consumer string, cfg inbox.Config) (inbox.Runner, error) {
	full := s.cfg
	full.Config = cfg
	if s.db != nil {
		return pginbox.NewSQL(s.db, consumer, full)
	}
	return pginbox.New(s.pool, consumer, full)
}

func (s *subject) Marker() (driver.Marker, error) {
	if s.db != nil {
		return pginbox.NewSQL(s.db, "marker", s.cfg)
	}
	return pginbox.New(s.pool, "marker", s.cfg)
}

func (s *subject) Write(ctx context.Context, effect string) error {
	return exec(ctx, `INSERT INTO `+s.schema+`.effects VALUES ($1)`, effect)
}

// exec runs a statement in the delivery's transaction, whatever its kind.
func exec(ctx context.Context, statement string, args ...any) error {
	if tx := pginbox.SQLTx(ctx); tx != nil {
		_, err := tx.ExecContext(ctx, statement, args...)
		return err
	}
	tx := pginbox.Tx(ctx)
	if tx == nil {
		return outbox.ErrNotInTransaction
	}
	_, err := tx.Exec(ctx, statement, args...)
	return err
}

func (s *subject) Effects(ctx context.Context) ([]string, error) {
	return s.strings(ctx, `SELECT effect FROM `+s.schema+`.effects`)
}

func (s *subject) Enqueued(ctx context.Context) ([]string, error) {
	return s.strings(ctx, `SELECT id FROM `+s.schema+`.enqueued`)
}

func (s *subject) strings(ctx context.Context, query string) ([]string, error) {
	rows, err := s.env.Pool.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func (s *subject) Recorded(ctx context.Context, consumer, id string) (found bool, err error) {
	stored, _ := ids.Map(id)
	err = s.env.Pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM `+s.schema+`.inbox_processed WHERE consumer = $1 AND id = $2)`,
		consumer, stored).Scan(&found)
	return found, err
}

func (s *subject) Admin() (admin.Inbox, error) {
	if s.operator != nil {
		return pginbox.NewAdmin(s.operator, s.cfg)
	}
	return pginbox.NewAdmin(s.env.Pool, s.cfg)
}

// Parked are the ids of the parked messages and of those that wait behind them.
func (s *subject) Parked(ctx context.Context, consumer string) (ids []string, err error) {
	a, err := pginbox.NewAdmin(s.env.Pool, s.cfg)
	if err != nil {
		return nil, err
	}
	parked, err := a.Parked(ctx, admin.ParkedQuery{Consumer: consumer})
	if errors.Is(err, admin.ErrUnknownConsumer) {
		return nil, nil // nothing has come yet
	}
	for _, p := range parked {
		ids = append(ids, p.ID)
	}
	return ids, err
}

func (s *subject) Outbox() outbox.Enqueuer { return enqueuer{s.schema} }

func (s *subject) BreakCommit(applied bool) {
	if applied {
		s.cable.Arm(faultnet.CutAfter)
	} else {
		s.cable.Arm(faultnet.CutBefore)
	}
}

// enqueuer is the least that an outbox in the same database does.
type enqueuer struct{ schema string }

func (e enqueuer) EnqueueContext(ctx context.Context, msgs ...outbox.Message) error {
	for _, m := range msgs {
		if err := exec(ctx, `INSERT INTO `+e.schema+`.enqueued VALUES ($1)`, m.ID); err != nil {
			return err
		}
	}
	return nil
}

func (enqueuer) Wake() {}
