package heldqueue_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

const lease = time.Hour

var errNoHolder = errors.New("the session is not a driver.Holder")

// postgres is an outbox in a database, with a session of its relay.
type postgres struct {
	*pgoutbox.Outbox

	db      *testenv.Database
	source  driver.Source
	session driver.Holder
	owner   string
	names   int // of records there were
}

func newPostgres(t *testing.T) *postgres {
	t.Helper()
	db := testenv.Postgres(t, migrated(t))
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	source, err := ob.Source(pgoutbox.SourceConfig{Group: group, Start: driver.Start{Oldest: true}})
	require.NoError(t, err)
	return &postgres{Outbox: ob, db: db, source: source}
}

// empty forgets all there was, and starts a session.
func (p *postgres) empty(ctx context.Context) error {
	for _, table := range []string{"", "_held", "_dead", "_audit", "_leases", "_positions"} {
		if _, err := p.db.Pool.Exec(ctx, "DELETE FROM leat.outbox"+table); err != nil {
			return err
		}
	}
	return p.acquire(ctx)
}

func (p *postgres) acquire(ctx context.Context) error {
	s, err := p.source.Acquire(ctx, lease)
	if err != nil {
		return err
	}
	h, ok := s.(driver.Holder)
	if !ok {
		return errors.Join(errNoHolder, s.Release(ctx))
	}
	p.session = h
	return p.db.Pool.QueryRow(ctx, "SELECT owner FROM leat.outbox_leases WHERE relay_group = $1", group).Scan(&p.owner)
}

// page enqueues records in one transaction and reads them.
func (p *postgres) page(ctx context.Context, records []setAside) (driver.Page, error) {
	msgs := make([]outbox.Message, len(records))
	for i := range records {
		p.names++
		msgs[i] = outbox.Message{Topic: records[i].Topic, Key: records[i].Key, Payload: []byte(strconv.Itoa(p.names))}
		if records[i].SameID {
			msgs[i].ID = "same"
		}
	}
	err := p.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return p.Enqueue(ctx, tx, msgs...) })
	if err != nil {
		return driver.Page{}, err
	}
	page, err := p.session.Read(ctx, 2*len(msgs))
	if err == nil && len(page.Records) != len(msgs) {
		err = fmt.Errorf("read %d records of %d", len(page.Records), len(msgs))
	}
	return page, err
}

// pass puts all times back, as if time had passed.
func (p *postgres) pass(ctx context.Context, d time.Duration) error {
	_, err := p.db.Pool.Exec(ctx, "UPDATE leat.outbox_held SET next_at = next_at - $1::interval, held_at = held_at - $1::interval", d)
	if err != nil {
		return err
	}
	_, err = p.db.Pool.Exec(ctx, "UPDATE leat.outbox_dead SET died_at = died_at - $1::interval", d)
	return err
}

// stored is a row as both sides can show it.
type stored struct {
	Seq      int64
	State    string
	Attempts int
	Reason   string
	Due      bool
	Errors   []admin.Failure
}

func (p *postgres) rows(ctx context.Context) ([]stored, error) {
	rows, err := p.db.Pool.Query(ctx, `
		SELECT seq, state, attempts, coalesce(reason, ''), coalesce(next_at <= clock_timestamp(), false), errors::text
		FROM leat.outbox_held
		UNION ALL
		SELECT seq, 'dead', 0, coalesce(reason, ''), false, errors::text FROM leat.outbox_dead
		ORDER BY seq`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (s stored, err error) {
		var failures string
		if err := row.Scan(&s.Seq, &s.State, &s.Attempts, &s.Reason, &s.Due, &failures); err != nil {
			return s, err
		}
		return s, json.Unmarshal([]byte(failures), &s.Errors)
	})
}

// shown are the rows of m as PostgreSQL's are shown.
func (m *memory) shown() []stored {
	var all []stored
	for _, r := range m.rows.Rows() {
		due := r.State.String() == "retry" && !r.Next.After(m.now())
		all = append(all, stored{r.Seq, r.State.String(), r.Attempts, r.Reason, due, r.Errors})
	}
	return all
}
