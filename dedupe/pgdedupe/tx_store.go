package pgdedupe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/fullpool/fullpgx"
	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgpin"
	"github.com/leat-go/leat/outbox"
)

// maxConsumerBytes bounds the name of a service.
const maxConsumerBytes = 200

// cleanUpTimeout bounds the rollback of a claim that failed.
const cleanUpTimeout = 5 * time.Second

// TxStore keeps the responses of one service, in the transactions that its handlers write in:
// give it to httpdedupe.NewTx. A request takes one connection from its claim to its commit, and
// three round trips in addition to the handler's own. It writes one row, once, with its response;
// Prune removes those that have expired.
//
// It is safe for concurrent use, owns no goroutines and needs no Close; the pool is the caller's.
type TxStore struct {
	pool     *pgxpool.Pool
	full     fullpgx.Pool
	consumer string
	cfg      Config
	sql      txStatements
}

var _ dedupe.TxStore = (*TxStore)(nil)

// NewTx returns a TxStore for the service called consumer, 1 to 200 bytes of UTF-8, in the
// database of pool. Requests are remembered under this name, so it must stay the same. NewTx does
// not connect: call Migrate once, for example at start-up. Errors wrap outbox.ErrInvalidConfig.
func NewTx(pool *pgxpool.Pool, consumer string, cfg Config) (*TxStore, error) {
	if pool == nil {
		return nil, outbox.ConfigError("pool", nil, "must not be nil")
	}
	if consumer == "" || len(consumer) > maxConsumerBytes || !utf8.ValidString(consumer) {
		return nil, outbox.ConfigError("consumer", strconv.Quote(consumer), "must be 1 to 200 bytes of UTF-8")
	}
	cfg = cfg.forTx()
	if err := cfg.txTable().validate(); err != nil {
		return nil, err
	}
	sql, err := renderTx(cfg)
	return &TxStore{pool: pool, full: fullpgx.Of(pool, nil), consumer: consumer, cfg: cfg, sql: sql}, err
}

// Claim implements dedupe.TxStore: BEGIN, an attempt to take the key's advisory lock, and a read
// of its response, in one round trip.
func (s *TxStore) Claim(ctx context.Context, id, fingerprint string) (dedupe.TxUnit, dedupe.Claim, error) {
	u := &unit{store: s, id: id, fingerprint: fingerprint}
	if err := s.full.Take(ctx, &u.taken); err != nil {
		return nil, dedupe.Claim{}, err
	}
	tx, claim, err := s.begin(ctx, u.taken.Conn, id, fingerprint)
	if err != nil || claim.Status != dedupe.Claimed {
		giveUp(ctx, u.taken.Conn)
		release(ctx, &u.taken, err)
		return nil, claim, explain(err)
	}
	u.tx = tx
	return u, claim, nil
}

func (s *TxStore) begin(ctx context.Context, conn *pgx.Conn, id, fingerprint string) (pgx.Tx, dedupe.Claim, error) {
	var locked, found, partly bool
	var setting, stored string
	var response []byte
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{})
	batch.Queue(s.sql.lock, keyhash.Lock("http", s.cfg.txTable().names().Qualified(""), s.consumer, id)).
		QueryRow(func(row pgx.Row) error { return row.Scan(&locked, &setting, &partly) })
	batch.Queue(s.sql.look, s.consumer, []byte(id), clocks.Come()).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&stored, &response)
		found = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	results := conn.SendBatch(ctx, batch)
	if err := results.Close(); err != nil {
		return nil, dedupe.Claim{}, err
	}
	switch {
	case partly:
		return nil, dedupe.Claim{}, fmt.Errorf("%w: of the answered requests", outbox.ErrRowSecurity)
	case found && stored != fingerprint:
		return nil, dedupe.Claim{Status: dedupe.Mismatch}, nil
	case found:
		return nil, dedupe.Claim{Status: dedupe.Done, Result: response}, nil
	case !locked:
		return nil, dedupe.Claim{Status: dedupe.Busy}, nil
	case setting == "off":
		return nil, dedupe.Claim{}, fmt.Errorf("%w: synchronous_commit is off, so that answered requests could be lost", outbox.ErrNotDurable)
	default:
		return results.Tx(), dedupe.Claim{Status: dedupe.Claimed, Attempt: 1}, nil
	}
}

// giveUp rolls back the transaction of a failed claim, so that the pool can keep the connection.
// If that fails the pool closes it.
func giveUp(ctx context.Context, conn *pgx.Conn) {
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, `rollback`) // the claim's own error is the one to report
}

// release returns a connection to its pool. A session that was refused because of its settings is
// closed: the pool would hand it to request after request.
func release(ctx context.Context, taken *fullpgx.Taken, err error) {
	if errors.Is(err, outbox.ErrNotDurable) || errors.Is(err, outbox.ErrRowSecurity) || pgerr.Unfit(err) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
		defer cancel()
		_ = taken.Conn.Close(ctx) // err is the one to report
	}
	taken.Release()
}

// Prune removes the responses that have expired, in chunks, and returns their
// number. It can run at any time and in many processes at once; once an hour is
// plenty.
func (s *TxStore) Prune(ctx context.Context) (int64, error) {
	n, err := pruned(ctx, pgpin.NewCommitted(pgpin.Of(s.pool)), s.sql.prune)
	if err != nil {
		err = fmt.Errorf("leat: prune responses: %w", explain(err))
	}
	return n, err
}
