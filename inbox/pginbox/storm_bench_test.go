package pginbox_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// stormLanes and stormBatch are how many deliveries are in progress, and the messages of a batch.
const (
	stormLanes = 8
	stormBatch = 100
)

// BenchmarkStorm delivers messages, some of which were processed before or fail, in batches and in pipelines of one. In
// turns they are taken for new until one is not, and looked for first: x-looking is the rate of the first way by that of
// the second, the median of all turns. A way that is faster for new messages must not be slower in a storm.
func BenchmarkStorm(b *testing.B) {
	if testing.Short() {
		b.Skip("needs PostgreSQL")
	}
	for _, way := range []string{"batches", "pipelines"} {
		for _, m := range []mixture{{}, {duplicates: 1}, {duplicates: 30}, {duplicates: 100}, {failures: 1}, {failures: 30}} {
			b.Run(fmt.Sprintf("%s/duplicates=%d/failures=%d", way, m.duplicates, m.failures), func(b *testing.B) {
				m.bench(b, way == "batches")
			})
		}
	}
}

// mixture says how many of a hundred messages were processed before, and how many fail.
type mixture struct{ duplicates, failures int }

var errStorm = errors.New("fails on purpose")

func (m mixture) bench(b *testing.B, batches bool) {
	b.Helper()
	db := testenv.Postgres(b)
	_, err := db.Pool.Exec(b.Context(), "CREATE TABLE storm (id uuid, place int)")
	require.NoError(b, err)
	var ways [2]func(lanes [][]*message.Message)
	for i, name := range []string{"new", "looking"} {
		in, err := pginbox.New(db.Pool, name, pginbox.Config{Config: inbox.Config{
			BusyDelay: inbox.NoDelay, OnFailure: inbox.Policy{Delay: inbox.NoDelay}, Logger: slog.New(slog.DiscardHandler),
		}})
		require.NoError(b, err)
		require.NoError(b, in.Migrate(b.Context()))
		if name == "looking" {
			in.LookFirst()
		}
		ways[i] = m.way(b, in, batches)
	}
	var seen [][]*message.Message
	turn := func(i int) time.Duration {
		lanes := m.draw(b, seen, batches)
		began := time.Now()
		ways[i](lanes)
		return time.Since(began)
	}
	fill := mixture{}.draw(b, nil, batches)
	ways[0](fill)
	ways[1](fill)
	seen = fill
	turn(0)
	turn(1)

	var ratios []float64
	for b.Loop() {
		first := len(ratios) % 2
		var took [2]time.Duration
		took[first] = turn(first)
		took[1-first] = turn(1 - first)
		ratios = append(ratios, took[1].Seconds()/took[0].Seconds())
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-looking")
	b.ReportMetric(ratios[len(ratios)/4], "x-looking-p25")
	b.ReportMetric(ratios[len(ratios)*3/4], "x-looking-p75")
}

// draw returns the messages of each lane.
func (m mixture) draw(b *testing.B, seen [][]*message.Message, batches bool) [][]*message.Message {
	b.Helper()
	n := 50
	if batches {
		n = 3 * stormBatch
	}
	lanes := make([][]*message.Message, stormLanes)
	for lane := range lanes {
		for i := range n {
			id, err := uuid.NewV7()
			require.NoError(b, err)
			msg := message.NewMessage(id.String(), nil)
			if i*37%100 < m.duplicates {
				msg = message.NewMessage(seen[lane][i].UUID, nil)
			} else if i*53%100 < m.failures {
				msg.Metadata.Set("fails", "yes")
			}
			msg.SetContext(b.Context())
			lanes[lane] = append(lanes[lane], msg)
		}
	}
	return lanes
}

// way returns what delivers the messages of all lanes.
func (m mixture) way(b *testing.B, in *pginbox.Inbox, batches bool) func(lanes [][]*message.Message) {
	b.Helper()
	const write = "INSERT INTO storm SELECT $1, generate_series(1, 2)"
	process := func(msgs []*message.Message) []error { return make([]error, len(msgs)) }
	if batches {
		batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{MaxBatch: stormBatch})
		require.NoError(b, err)
		each := pginbox.HandleBatchQueued(batch, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
			if msg.Metadata.Get("fails") != "" {
				return errStorm
			}
			queue.Queue(write, msg.UUID)
			return nil
		})
		process = func(msgs []*message.Message) []error { return each(b.Context(), msgs) }
	} else {
		one := pginbox.HandleQueued(in, func(_ context.Context, queue *pgx.Batch, msg *message.Message) error {
			if msg.Metadata.Get("fails") != "" {
				return errStorm
			}
			queue.Queue(write, msg.UUID)
			return nil
		})
		process = func(msgs []*message.Message) []error { return []error{one(msgs[0])} }
	}
	size := 1
	if batches {
		size = stormBatch
	}
	return func(lanes [][]*message.Message) {
		var all sync.WaitGroup
		for _, msgs := range lanes {
			all.Go(func() {
				for part := range slices.Chunk(msgs, size) {
					for _, err := range process(part) {
						if err != nil && !errors.Is(err, errStorm) {
							b.Error(err)
						}
					}
				}
			})
		}
		all.Wait()
	}
}
