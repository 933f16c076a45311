package pgoutbox_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// wrongSource reads the outbox in one of the wrong ways, which lose rows or invert keys. It has no lease,
// and keeps its position in memory.
type wrongSource struct {
	db   *testenv.Database
	next func(ctx context.Context, db *testenv.Database, limit int) ([]outbox.Record, error)
}

func (w *wrongSource) Check(context.Context) error                     { return nil }
func (w *wrongSource) Wakes(context.Context) <-chan struct{}           { return nil }
func (w *wrongSource) Epoch() int64                                    { return 1 }
func (w *wrongSource) Release(context.Context) error                   { return nil }
func (w *wrongSource) Renew(context.Context, time.Duration) error      { return nil }
func (w *wrongSource) Advance(context.Context, driver.Page, int) error { return nil }

func (w *wrongSource) Acquire(context.Context, time.Duration) (driver.Session, error) { return w, nil }

func (w *wrongSource) Read(ctx context.Context, limit int) (driver.Page, error) {
	records, err := w.next(ctx, w.db, limit)
	return driver.Page{Records: records}, err
}

const wrongColumns = `SELECT seq, created_at, occurred_at, id_text, topic, coalesce(key, ''), coalesce(type, ''), payload, xid::text::bigint
	FROM leat.outbox `

// selectRecords runs the query of a wrong source and calls each for every row.
func selectRecords(ctx context.Context, db *testenv.Database, each func(r *outbox.Record, xid int64), where string, args ...any) ([]outbox.Record, error) {
	rows, err := db.Pool.Query(ctx, wrongColumns+where, args...)
	if err != nil {
		return nil, err
	}
	var all []outbox.Record
	var r outbox.Record
	var xid int64
	_, err = pgx.ForEachRow(rows, []any{&r.Seq, &r.CreatedAt, &r.OccurredAt, &r.ID, &r.Topic, &r.Key, &r.Type, &r.Payload, &xid}, func() error {
		each(&r, xid)
		all = append(all, r)
		all[len(all)-1].Payload = append([]byte(nil), r.Payload...)
		return nil
	})
	return all, err
}

// byID continues after the highest number it has seen.
func byID() func(context.Context, *testenv.Database, int) ([]outbox.Record, error) {
	var last int64
	return func(ctx context.Context, db *testenv.Database, limit int) ([]outbox.Record, error) {
		return selectRecords(ctx, db, func(r *outbox.Record, _ int64) { last = r.Seq },
			"WHERE seq > $1 ORDER BY seq LIMIT $2", last, limit)
	}
}

// byXid reads in the order of transaction ids. Stopping at the oldest running transaction would not help:
// where byXid is used, only transactions of other tests are still running.
func byXid() func(context.Context, *testenv.Database, int) ([]outbox.Record, error) {
	var xid, seq int64
	return func(ctx context.Context, db *testenv.Database, limit int) ([]outbox.Record, error) {
		return selectRecords(ctx, db, func(r *outbox.Record, x int64) { xid, seq = x, r.Seq }, `
			WHERE (xid, seq) > ($1::bigint::text::xid8, $2::bigint)
			ORDER BY xid, seq LIMIT $3`, xid, seq, limit)
	}
}

// byFullPage reads windows, but treats a window as finished after one page.
func byFullPage() func(context.Context, *testenv.Database, int) ([]outbox.Record, error) {
	prev := "3:3:"
	return func(ctx context.Context, db *testenv.Database, limit int) ([]outbox.Record, error) {
		var target string
		if err := db.Pool.QueryRow(ctx, "SELECT pg_current_snapshot()::text").Scan(&target); err != nil {
			return nil, err
		}
		defer func() { prev = target }()
		return selectRecords(ctx, db, func(*outbox.Record, int64) {}, `
			WHERE pg_visible_in_snapshot(xid, $2::pg_snapshot) AND NOT pg_visible_in_snapshot(xid, $1::pg_snapshot)
			ORDER BY seq LIMIT $3`, prev, target, limit)
	}
}

// TestNegativeControls runs schedules that expose the wrong sources, with each of them and with ours, to
// real Kafka and through the same checks.
func TestNegativeControls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wrong    func() func(context.Context, *testenv.Database, int) ([]outbox.Record, error)
		schedule func(s *stage, relayOnce func())
		want     report
	}{
		"O2_IDCursor":           {byID, lateCommitter, report{lost: []string{"late"}, most: 1}},
		"O5_OrderByXid":         {byXid, earlyXidLateKey, report{inverted: []string{"paid"}, most: 1}},
		"O2_FinishesOnFullPage": {byFullPage, threePages, report{lost: []string{"3", "4", "5"}, most: 1}},
	} {
		for _, form := range []string{"wrong", "ours"} {
			t.Run(name+"/"+form, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				sink := s.sink()
				var src driver.Source = source(t, s.ob, "")
				want := report{most: 1}
				if form == "wrong" {
					src, want = &wrongSource{s.db, c.wrong()}, c.want
				}
				c.schedule(s, func() { s.relayOnce(src, sink, relay.Config{PageSize: 2}) })
				require.Equal(t, want, s.audit(s.log()))
			})
		}
	}
}

func lateCommitter(s *stage, relayOnce func()) {
	late := begin(s.t, s.ob, s.db)
	m := s.message("a", "late")
	require.NoError(s.t, s.ob.Enqueue(s.t.Context(), late.Tx, m))
	s.commit(s.message("b", "early"))
	relayOnce()
	late.commit()
	s.ledger.note(true, m)
	relayOnce()
}

func earlyXidLateKey(s *stage, relayOnce func()) {
	early := begin(s.t, s.ob, s.db).exec("SELECT pg_current_xact_id()")
	s.commit(s.message("order", "paid"))
	m := s.message("order", "shipped")
	require.NoError(s.t, s.ob.Enqueue(s.t.Context(), early.Tx, m))
	early.commit()
	s.ledger.note(true, m)
	relayOnce()
}

func threePages(s *stage, relayOnce func()) {
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		s.commit(s.message("k", id))
	}
	relayOnce()
	relayOnce()
}
