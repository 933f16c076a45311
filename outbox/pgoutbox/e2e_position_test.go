package pgoutbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// positionLog makes the database record every position that is stored, with its time.
const positionLog = `
	CREATE TABLE position_log (n bigint GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL,
		window_no bigint, prev pg_snapshot, target pg_snapshot, last bigint);
	CREATE FUNCTION note_position() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN
		INSERT INTO public.position_log (at, window_no, prev, target, last)
		VALUES (clock_timestamp(), NEW.window_no, NEW.prev, NEW.target, NEW.last);
		RETURN NEW;
	END$$;
	CREATE TRIGGER note AFTER INSERT OR UPDATE ON leat.outbox_positions FOR EACH ROW EXECUTE FUNCTION note_position()`

// acked records when the broker first acknowledged each record.
type acked struct {
	driver.Sink

	mu *sync.Mutex
	at map[int64]time.Time
}

func (a *acked) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := a.Sink.Send(ctx, records)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range results {
		if _, before := a.at[records[i].Seq]; results[i].Err == nil && !before {
			a.at[records[i].Seq] = time.Now()
		}
	}
	return results
}

// settled returns, for every stored position, the records that it passes. It fails if a position goes
// back.
func settled(t *testing.T, db *testenv.Database) (positions int, firstPassed map[int64]time.Time) {
	t.Helper()
	// The newest window counts: what is stored into one that is over moves nothing.
	require.Zero(t, query1[int](t, db, `
		SELECT count(*) FROM (
			SELECT window_no, last, lag(last) OVER (PARTITION BY window_no ORDER BY n) AS before, max(window_no) OVER (ORDER BY n) AS newest
			FROM position_log) p
		WHERE window_no = newest AND last < before`), "positions never go back")
	rows, err := db.Pool.Query(t.Context(), `
		SELECT o.seq, min(p.at) FROM position_log p JOIN leat.outbox o
		ON pg_visible_in_snapshot(o.xid, p.prev) OR pg_visible_in_snapshot(o.xid, p.target) AND o.seq <= p.last
		GROUP BY o.seq`)
	require.NoError(t, err)
	firstPassed = map[int64]time.Time{}
	var seq int64
	var at time.Time
	_, err = pgx.ForEachRow(rows, []any{&seq, &at}, func() error {
		firstPassed[seq] = at
		return nil
	})
	require.NoError(t, err)
	return query1[int](t, db, "SELECT count(*) FROM position_log"), firstPassed
}

// TestO12_PositionsFollowTheAcks: while producers write and leaders are cut off, no stored position goes
// back, and none passes a record before the broker has acknowledged it.
func TestO12_PositionsFollowTheAcks(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	exec(t, s.db, positionLog)
	acks := &acked{mu: &sync.Mutex{}, at: map[int64]time.Time{}}
	leader := func() (*severable, *running) {
		src := &severable{Source: source(t, s.ob, "")}
		return src, s.start(src, &acked{s.sink(), acks.mu, acks.at}, fastTakeover())
	}
	src, run := leader()
	s.storm("storm", 20, func(n int) {
		if n == 80 {
			src.sever()
			run.cancel()
			src, run = leader()
		}
	})
	s.awaitAll()
	require.NoError(t, run.stop())

	positions, passed := settled(t, s.db)
	require.Greater(t, positions, 5)
	require.Len(t, passed, s.ledger.size(), "after a clean stop all is settled")
	for seq, at := range passed {
		ack, ok := acks.at[seq]
		require.True(t, ok, "record %d was passed and never acknowledged", seq)
		require.False(t, at.Before(ack), "record %d was passed %s before its acknowledgement", seq, ack.Sub(at))
	}
}

// TestO12_AdvanceBeforeAckIsCaught is the negative control: a relay that advances as soon as it has read,
// cut off before the broker has the records.
func TestO12_AdvanceBeforeAckIsCaught(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]bool{"ours": false, "wrong": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			exec(t, s.db, positionLog)
			s.commit(s.message("k", "1"), s.message("k", "2"), s.message("", "3"))
			var src driver.Source = source(t, s.ob, "")
			if wrong {
				src = eager{src}
			}
			victim := &severable{Source: src}
			sink := &refusing{called: make(chan struct{})}
			run := s.start(victim, sink, fastTakeover())
			<-sink.called
			victim.sever()
			run.cancel()
			<-run.done // with whatever error: nobody asks a process that was killed
			_, passed := settled(t, s.db)

			exec(t, s.db, "UPDATE leat.outbox_leases SET lease_until = clock_timestamp()")
			s.relayOnce(source(t, s.ob, ""), s.sink(), relay.Config{})
			r := s.audit(s.log())
			if wrong {
				require.NotEmpty(t, passed)
				require.Equal(t, []string{"1", "2", "3"}, r.lost)
			} else {
				require.Empty(t, passed)
				require.Equal(t, report{most: 1}, r)
			}
		})
	}
}

// refusing is a broker that is unavailable.
type refusing struct {
	once   sync.Once
	called chan struct{}
}

func (r *refusing) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	r.once.Do(func() { close(r.called) })
	results := make([]outbox.Result, len(records))
	for i := range results {
		results[i] = outbox.Failed(outbox.FailureOutage, errSevered)
	}
	return results
}

// eager is a source that settles records as soon as it has read them.
type eager struct{ driver.Source }

func (e eager) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	session, err := e.Source.Acquire(ctx, ttl)
	return eagerSession{session}, err
}

type eagerSession struct{ driver.Session }

func (e eagerSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	page, err := e.Session.Read(ctx, limit)
	if err == nil && len(page.Records) > 0 {
		err = e.Session.Advance(ctx, page, len(page.Records))
		if err == nil {
			_, err = e.Session.Read(ctx, limit) // which stores the position
		}
	}
	return page, err
}

func (e eagerSession) Advance(context.Context, driver.Page, int) error { return nil }

// TestO13_CleanStop: a process that is asked to stop ends by itself within the drain timeout. Its lease is
// released, its connections are closed, and its position passes no unacknowledged record.
//
//leat:level 2
func TestO13_CleanStop(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	exec(t, s.db, positionLog)
	p := s.spawn(15 * time.Second)
	<-p.leading
	s.storm("storm", 15, func(n int) {
		if n == 60 {
			require.NoError(t, p.stop())
		}
	})
	require.True(t, query1[bool](t, s.db, "SELECT owner IS NULL AND lease_until <= clock_timestamp() FROM leat.outbox_leases"))
	sent := map[string]bool{}
	for _, d := range s.log() {
		sent[d.ID] = true
	}
	_, passed := settled(t, s.db)
	require.Len(t, passed, len(sent), "exactly what was acknowledged is settled")

	next := s.spawn(15 * time.Second)
	s.awaitAll()
	require.NoError(t, next.stop())
	require.Equal(t, report{most: 1}, s.audit(s.log()))
}
