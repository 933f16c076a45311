package benchmarks

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxWatermark measures what an inbox of positions costs beside one of
// ids and a bare transaction, with the handler of BenchmarkInboxHandler. Each lane
// reads a partition of its own, as it must.
func BenchmarkInboxWatermark(b *testing.B) {
	for _, lanes := range []int{1, 8} {
		b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) {
			db := testenv.Postgres(b, migrated())
			logSettings(b, db, nil)
			size := scale(b).inbox
			wm := newPartitions(b, db, lanes)
			ids, err := pginbox.New(db.Pool, "ids", pginbox.Config{})
			require.NoError(b, err)
			byID := ids.Handle(inTx(effect))
			bare := bareEffect(db.Pool)
			run := func(handle func(*message.Message) error) func(int) (time.Duration, error) {
				return func(int) (time.Duration, error) { return deliver(b.Context(), lanes, size.transactions, handle) }
			}
			for _, warmUp := range []func(*message.Message) error{byID, bare} {
				_, err := deliver(b.Context(), lanes, lanes*20, warmUp)
				require.NoError(b, err)
			}
			_, err = wm.deliver(b.Context(), lanes*20)
			require.NoError(b, err)

			b.ResetTimer()
			compare.Rounds(b, size.rounds, only(), "msg/s",
				compare.Contender{Name: "watermark", Ops: size.transactions, Run: func(int) (time.Duration, error) {
					return wm.deliver(b.Context(), size.transactions)
				}},
				compare.Contender{Name: "ids", Ops: size.transactions, Run: run(byID)},
				compare.Contender{Name: "bare", Ops: size.transactions, Run: run(bare)},
			)
		})
	}
}

// BenchmarkInboxWatermarkUnderASnapshot measures what an open snapshot of the same
// database, such as that of pg_dump, does to a watermark: the versions of its row
// cannot be cleaned up, and each claim looks through them. The versions are as many
// as the metric says; x-held is what is left of the speed.
func BenchmarkInboxWatermarkUnderASnapshot(b *testing.B) {
	db := testenv.Postgres(b, migrated())
	size := scale(b).snapshot
	wm := newPartitions(b, db, 1)
	b.ResetTimer()
	for range b.N {
		before, err := wm.fastest(b.Context(), size.probe)
		require.NoError(b, err)
		snapshot, err := db.Connect(b).BeginTx(b.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		require.NoError(b, err)
		_, err = snapshot.Exec(b.Context(), "SELECT FROM effects LIMIT 1")
		require.NoError(b, err)
		_, err = wm.deliver(b.Context(), size.versions)
		require.NoError(b, err)
		held, err := wm.fastest(b.Context(), size.probe)
		require.NoError(b, err)
		require.NoError(b, snapshot.Rollback(b.Context()))
		after, err := wm.fastest(b.Context(), size.probe)
		require.NoError(b, err)
		for unit, value := range map[string]float64{
			"x-held":       float64(before) / float64(held),
			"x-after":      float64(before) / float64(after),
			"added-µs/msg": float64((held - before).Microseconds()) / float64(size.probe),
			"versions":     float64(size.versions),
		} {
			b.ReportMetric(value, unit)
			results.Record(b, "", unit, value)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// snapshotSize is how many versions of the row there are, and how many messages
// look through them.
type snapshotSize struct {
	versions, probe int
}

// fastest delivers count messages a few times and returns the shortest time: what
// else the machine does only adds.
func (p *partitions) fastest(ctx context.Context, count int) (time.Duration, error) {
	best := time.Duration(1<<63 - 1)
	for range 7 {
		took, err := p.deliver(ctx, count)
		if err != nil {
			return 0, err
		}
		best = min(best, took)
	}
	return best, nil
}

// partitions are the partitions of a log, each read by a lane.
type partitions struct {
	handle func(*message.Message) error
	source string
	next   []int64
}

func newPartitions(b *testing.B, db *testenv.Database, lanes int) *partitions {
	b.Helper()
	w, err := pgwatermark.New(db.Pool, "positions", []string{"log"}, pgwatermark.Config{})
	require.NoError(b, err)
	p := &partitions{handle: w.Handle(inTx(effect)), source: uuid.NewString(), next: make([]int64, lanes)}
	for lane := range lanes {
		_, err := w.Assigned(b.Context(), []driver.Assignment{{Source: p.source, Topic: "log", Partition: int32(lane), End: 1 << 40}})
		require.NoError(b, err)
	}
	return p
}

// deliver processes count new messages, an equal share in each partition.
func (p *partitions) deliver(ctx context.Context, count int) (time.Duration, error) {
	errs := make([]error, len(p.next))
	var group sync.WaitGroup
	began := time.Now()
	for lane := range p.next {
		group.Go(func() {
			for i := lane; i < count && errs[lane] == nil; i += len(p.next) {
				id := uuid.New()
				payload := make([]byte, 256)
				copy(payload, id[14:])
				msg := message.NewMessage(id.String(), payload)
				msg.SetContext(driver.WithPosition(ctx, driver.Position{
					Source: p.source, Topic: "log", Partition: int32(lane),
					Offset: p.next[lane], Prev: p.next[lane] - 1, Serial: true,
				}))
				errs[lane] = p.handle(msg)
				p.next[lane]++
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return took, nil
}
