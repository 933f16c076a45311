package benchmarks

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	wmiddleware "github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/middleware"
)

// BenchmarkDeduplicator measures what a middleware costs that drops repeats by what it
// remembers in memory: leat's Dedupe, and Watermill's Deduplicator by three of its keys.
//
// They do not promise the same. Watermill's remembers a message before its handler runs,
// so that one whose handler fails is dropped when it comes again, and is lost; it drops new
// messages whose payloads have the same hash, which the default, 32 bits of Adler, makes
// happen; and it forgets by time alone. Leat's holds a lease while the handler runs, and
// remembers what has succeeded, by id. Neither outlives the process.
func BenchmarkDeduplicator(b *testing.B) {
	size := scale(b).dedupe
	for _, seen := range []bool{false, true} {
		b.Run(map[bool]string{false: "new", true: "seen"}[seen], func(b *testing.B) {
			for _, lanes := range []int{1, 8} {
				b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { deduplicate(b, size, lanes, seen) })
			}
		})
	}
	b.Run("kept", func(b *testing.B) { keep(b, size.kept) })
}

// deduplicatorSize is the messages of a round, those that are remembered where it is
// measured what that takes, and rounds.
type deduplicatorSize struct {
	messages, kept, rounds int
}

// deduplicator is a middleware that drops repeats.
type deduplicator struct {
	name string
	// exact is whether it takes two messages for the same by their ids or by a hash
	// that has no collisions.
	exact bool
	wrap  message.HandlerMiddleware
}

func deduplicators(b *testing.B) []deduplicator {
	b.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(b, err)
	processor, err := dedupe.New(store, "benchmark", dedupe.Config{})
	require.NoError(b, err)
	return []deduplicator{
		{"leat", true, middleware.Dedupe{Processor: processor}.Middleware},
		{"watermill-adler32", false, watermillDeduplicator(b, wmiddleware.NewMessageHasherAdler32(math.MaxInt64))},
		{"watermill-sha256", true, watermillDeduplicator(b, wmiddleware.NewMessageHasherSHA256(math.MaxInt64))},
		{"watermill-id", true, watermillDeduplicator(b, byID)},
	}
}

// byID is the hasher that costs nothing.
func byID(msg *message.Message) (string, error) { return msg.UUID, nil }

// watermillDeduplicator remembers for longer than a benchmark runs.
func watermillDeduplicator(b *testing.B, key wmiddleware.MessageHasher) message.HandlerMiddleware {
	b.Helper()
	keys, err := wmiddleware.NewMapExpiringKeyRepository(24 * time.Hour)
	require.NoError(b, err)
	return (&wmiddleware.Deduplicator{KeyFactory: key, Repository: keys, Timeout: time.Minute}).Middleware
}

// deduplicate measures rounds of messages that are new, or that have all been seen.
func deduplicate(b *testing.B, size deduplicatorSize, lanes int, seen bool) {
	b.Helper()
	var contenders []compare.Contender
	for _, d := range deduplicators(b) {
		random := newRandom()
		var ran atomic.Int64
		handle := handler(d, &ran)
		first := randomMessages(b.Context(), random, size.messages)
		_, err := deliverThese(lanes, first, handle)
		require.NoError(b, err)
		contenders = append(contenders, compare.Contender{Name: d.name, Ops: size.messages, Run: func(int) (time.Duration, error) {
			messages := first
			if !seen {
				messages = randomMessages(b.Context(), random, size.messages)
			}
			ran.Store(0)
			took, err := deliverThese(lanes, messages, handle)
			if err != nil {
				return 0, err
			}
			return took, expectRuns(d, seen, int(ran.Load()), size.messages)
		}})
	}
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
}

// expectRuns makes sure that new messages were handled and others not. A hash of 32 bits
// may drop one new message in a hundred.
func expectRuns(d deduplicator, seen bool, ran, of int) error {
	least, most := of, of
	switch {
	case seen:
		least, most = 0, 0
	case !d.exact:
		least = of - of/100
	}
	if ran < least || ran > most {
		return fmt.Errorf("handled %d of %d messages, want %d to %d", ran, of, least, most)
	}
	return nil
}

// handler counts what the middleware lets through.
func handler(d deduplicator, ran *atomic.Int64) func(*message.Message) error {
	wrapped := d.wrap(func(*message.Message) ([]*message.Message, error) {
		ran.Add(1)
		return nil, nil
	})
	return func(msg *message.Message) error {
		_, err := wrapped(msg)
		return err
	}
}

// keep measures what a message takes that is remembered, and how many new ones of a
// million are dropped, or of as many as there are, times the rest.
func keep(b *testing.B, count int) {
	b.Helper()
	const million = 1_000_000
	b.ReportMetric(0, "ns/op")
	for range b.N {
		for _, d := range deduplicators(b) {
			var ran atomic.Int64
			handle := handler(d, &ran)
			random := newRandom()
			before := heap()
			for range count {
				require.NoError(b, handle(randomMessage(b.Context(), random)))
			}
			bytes := float64(heap()-before) / float64(count)
			dropped := float64(count-int(ran.Load())) * million / float64(count)
			runtime.KeepAlive(handle)
			require.NoError(b, expectRuns(d, false, int(ran.Load()), count))
			b.ReportMetric(bytes, d.name+"-B/id")
			b.ReportMetric(dropped, d.name+"-dropped/million")
			results.Record(b, d.name, "B/id", bytes)
			results.Record(b, d.name, "dropped/million", dropped)
		}
	}
}

// heap is what the collector leaves.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// newRandom returns a source that is the same for all contenders.
func newRandom() *rand.ChaCha8 { return rand.NewChaCha8([32]byte{1}) }

func randomMessages(ctx context.Context, random *rand.ChaCha8, count int) []*message.Message {
	messages := make([]*message.Message, count)
	for i := range messages {
		messages[i] = randomMessage(ctx, random)
	}
	return messages
}

// randomMessage returns one of 512 bytes that has not been before.
func randomMessage(ctx context.Context, random *rand.ChaCha8) *message.Message {
	payload := make([]byte, 512)
	_, _ = random.Read(payload) // it never fails
	msg := message.NewMessage(uuid.Must(uuid.NewV7()).String(), payload)
	msg.SetContext(ctx)
	return msg
}
