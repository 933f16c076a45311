package pgwatermark_test

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/txctx"
)

// upsert is the forbidden driver.Store: an upsert that asks only whether the
// watermark is behind the message.
type upsert struct{ pool *pgxpool.Pool }

func (s upsert) Claim(ctx context.Context, _ string) (driver.Unit, driver.Status, error) {
	p, _ := driver.PositionFrom(ctx)
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return nil, 0, err
	}
	tag, err := tx.Exec(ctx, `INSERT INTO leat.inbox_watermarks AS w VALUES (1, $1, $2, $3::bigint + 1)
		ON CONFLICT (consumer, source, part) DO UPDATE SET next_off = EXCLUDED.next_off WHERE w.next_off <= $3::bigint`,
		p.Source, p.Partition, p.Offset)
	if err == nil && tag.RowsAffected() == 1 {
		return txUnit{tx}, driver.Claimed, nil
	}
	_ = tx.Rollback(context.WithoutCancel(ctx))
	return nil, driver.Duplicate, err
}

// txUnit ends a transaction as it should be.
type txUnit struct{ pgx.Tx }

func (u txUnit) Context(ctx context.Context) context.Context { return txctx.With(ctx, u.Tx) }

// lyingSession delivers count messages in order but several at a time, and says
// that it does not. Each message is delivered until it is acked; the first run of
// every fifth fails.
func lyingSession(t *testing.T, count int64, process func(p driver.Position, handle func(context.Context) error) error) {
	t.Helper()
	type delivery struct {
		offset int64
		again  bool
	}
	queue := make(chan delivery, count)
	var unacked sync.WaitGroup
	for offset := range count {
		unacked.Add(1)
		queue <- delivery{offset: offset}
	}
	var workers sync.WaitGroup
	for range 6 {
		workers.Go(func() {
			for d := range queue {
				p, ran := at(d.offset), false
				err := process(p, func(ctx context.Context) error {
					ran = true
					if d.offset%5 == 0 && !d.again {
						return errOnPurpose
					}
					return effectOf(p)(ctx)
				})
				if err == nil {
					unacked.Done()
					continue
				}
				queue <- delivery{offset: d.offset, again: d.again || ran}
			}
		})
	}
	unacked.Wait()
	close(queue)
	workers.Wait()
}

// TestI8_ParallelProcessingLosesNothing: messages that overtake each other inside a
// partition are never taken for processed. By the plain upsert they are, and are
// lost.
func TestI8_ParallelProcessingLosesNothing(t *testing.T) {
	t.Parallel()
	const count = 60
	for _, kind := range []string{"pgx", "sql"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			db := testenv.Postgres(t, template)
			// A gap is a failure, whose delay would be most of this test.
			w := newWatermark(t, db, kind, pgwatermark.Config{Config: inbox.Config{OnFailure: inbox.Policy{Delay: inbox.NoDelay}}})
			assign(t, w, whole(count))
			lyingSession(t, count, func(p driver.Position, handle func(context.Context) error) error {
				_, err := processAt(t.Context(), w, p, handle)
				return err
			})
			all, distinct := countEffects(t, db)
			require.Equal(t, []int{count, count}, []int{all, distinct})
		})
	}
	t.Run("forbidden", func(t *testing.T) {
		t.Parallel()
		db := testenv.Postgres(t, template)
		p, err := inbox.New(upsert{db.Pool}, "c", inbox.Config{IDFrom: inbox.IDFromUUID()})
		require.NoError(t, err)
		lyingSession(t, count, func(pos driver.Position, handle func(context.Context) error) error {
			msg := delivered(t.Context(), pos)
			msg.UUID = strconv.FormatInt(pos.Offset, 10)
			_, err := p.Process(msg.Context(), msg, handle)
			return err
		})
		all, distinct := countEffects(t, db)
		require.Equal(t, all, distinct)
		require.Less(t, distinct, count, "the plain upsert is known to lose messages")
		t.Logf("the plain upsert lost %d of %d messages", count-distinct, count)
	})
}
