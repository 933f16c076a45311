package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// postgres is a store on PostgreSQL.
type postgres struct {
	*pgoutbox.Outbox

	pool *pgxpool.Pool
	log  *slog.Logger
	tail *pgoutbox.TailConfig // nil if relays do not follow the change log
}

// pool opens the process's connection pool.
func (p *process) pool(ctx context.Context) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(p.Database)
	if err != nil {
		return nil, fmt.Errorf("parse the database's URL: %w", err)
	}
	cfg.ConnConfig.DialFunc = p.connections.dial
	cfg.ConnConfig.RuntimeParams["application_name"] = p.Name
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open the pool: %w", err)
	}
	return pool, nil
}

func (p *process) openPostgres(ctx context.Context) (*postgres, error) {
	pool, err := p.pool(ctx)
	if err != nil {
		return nil, err
	}
	ob, err := pgoutbox.New(pool, pgoutbox.Config{Logger: p.log})
	if err != nil {
		pool.Close()
		return nil, err
	}
	s := &postgres{Outbox: ob, pool: pool, log: p.log}
	if p.Tail && p.Role == Relay {
		s.tail = &pgoutbox.TailConfig{Hooks: []outbox.Hook{tailEyes{p}}}
	}
	return s, nil
}

func (s *postgres) close() { s.pool.Close() }

func (s *postgres) inTx(ctx context.Context, work func(ctx context.Context) error) error {
	return s.InTx(ctx, func(ctx context.Context, _ pgx.Tx) error { return work(ctx) })
}

func (s *postgres) rolledBack(err error) bool { return errors.Is(err, pgx.ErrTxCommitRollback) }

func (s *postgres) enqueuePlainly(ctx context.Context, m outbox.Message, headers string) error {
	_, err := pginbox.Tx(ctx).Exec(ctx, enqueuePlainly, m.ID, m.Topic, m.Key, m.Type, m.Payload, headers)
	return err
}

func (s *postgres) transfer(ctx context.Context, e event) (version int64, err error) {
	batch := &pgx.Batch{}
	if e.opensAccount() {
		batch.Queue(openAccount, e.From)
	}
	batch.Queue(lockAccounts, e.From, e.To)
	batch.Queue(transferSQL, e.ID, e.From, e.To, e.Amount).QueryRow(func(row pgx.Row) error { return row.Scan(&version) })
	return version, pginbox.Tx(ctx).SendBatch(ctx, batch).Close()
}

func (s *postgres) book(ctx context.Context, e event, child string) error {
	batch := &pgx.Batch{}
	batch.Queue(lockBalances, e.From, e.To)
	batch.Queue(bookSQL, e.From, e.To, e.Amount)
	batch.Queue(effectSQL, Ledger, e.ID, e.From, e.Amount, e.To, child)
	return pginbox.Tx(ctx).SendBatch(ctx, batch).Close()
}

func (s *postgres) inbox(hooks ...outbox.Hook) (markedInbox, error) {
	return pginbox.New(s.pool, Ledger, LedgerInbox(hooks...))
}

func (s *postgres) forgets() (func(ctx context.Context) error, error) {
	m, err := pginbox.NewMaintenance(s.pool, LedgerInbox(), LedgerForgets())
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		if _, err := m.RunOnce(ctx); !errors.Is(err, pginbox.ErrNotEnabled) {
			return err
		}
		return nil
	}, nil
}

// LedgerForgets returns the configuration by which the ledger's inbox forgets, once it is enabled.
func LedgerForgets() pginbox.MaintenanceConfig {
	return pginbox.MaintenanceConfig{Lease: 2 * time.Second, Retention: RememberFor, KeepOther: RememberFor}
}

// LedgerInbox returns the configuration of the ledger's inbox in PostgreSQL.
func LedgerInbox(hooks ...outbox.Hook) pginbox.Config {
	return pginbox.Config{Config: ledgerInbox(hooks...)}
}

func (s *postgres) source() (driver.Source, error) {
	if s.tail != nil { // a tail needs a single slot
		return s.Source(pgoutbox.SourceConfig{Tail: s.tail})
	}
	return s.Source(pgoutbox.SourceConfig{Slots: RelaySlots})
}

// tailEyes report the end of a tail.
type tailEyes struct{ *process }

// OnDriverTail implements driver.TailHook.
func (e tailEyes) OnDriverTail(_ context.Context, t driver.TailEvent) {
	if !t.Follows {
		e.watch.seen("tail dropped, windows go on")
	}
}

// RangeSize is how many numbers a range of the log has. It is small enough for some ranges to be dropped
// during a run.
const RangeSize = 1000

func (s *postgres) maintenance() (func(ctx context.Context) error, error) {
	m, err := pgoutbox.NewMaintenance(s.Outbox, pgoutbox.MaintenanceConfig{
		Lease: 2 * time.Second, Retention: KeepFor, PartitionSize: RangeSize,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		_, err := m.RunOnce(ctx)
		return err
	}, nil
}

func (s *postgres) notify(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.RunNotifier(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "notifier", slog.Any("error", err))
		}
		wait.Full(ctx, 100*time.Millisecond)
	}
}

func (s *postgres) page(ctx context.Context) (messages []outbox.Message, last int64, err error) {
	if _, err := s.pool.Exec(ctx, `CREATE TABLE IF NOT EXISTS id_cursor AS SELECT 0::bigint AS last`); err != nil {
		return nil, 0, fmt.Errorf("make the cursor: %w", err)
	}
	rows, err := s.pool.Query(ctx, `
		SELECT seq, coalesce(id_text, id::text), topic, key, payload FROM leat.outbox
		WHERE seq > (SELECT last FROM id_cursor) AND octet_length(payload) < $1 ORDER BY seq LIMIT 500`, MaxMessageBytes)
	if err != nil {
		return nil, 0, fmt.Errorf("read a page: %w", err)
	}
	var m outbox.Message
	_, err = pgx.ForEachRow(rows, []any{&last, &m.ID, &m.Topic, &m.Key, &m.Payload}, func() error {
		messages = append(messages, m)
		m.Payload = nil
		return nil
	})
	return messages, last, err
}

func (s *postgres) moveCursor(ctx context.Context, last int64) error {
	if _, err := s.pool.Exec(ctx, `UPDATE id_cursor SET last = $1`, last); err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	return nil
}
