package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxDeduplicator measures what it costs to drop repeats before a handler that
// writes two statements in a transaction: by leat's inbox, in that transaction, and by
// Watermill's Deduplicator in memory, with the message's id as the key, in front of a bare
// one.
//
// It compares costs and nothing else. Watermill's forgets when the process ends and when
// its time is up, knows nothing of what other processes have handled, and has remembered a
// message whose transaction fails or whose process dies in it, so that the message is
// dropped when it comes again. The inbox remembers what has committed.
func BenchmarkInboxDeduplicator(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { inboxDeduplicator(b, db, lanes) })
		}
	})
}

func inboxDeduplicator(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	size := scale(b).inbox
	logSettings(b, db, nil)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	bare := bareEffect(db.Pool)
	wrap, err := watermillDeduplicator(byID, time.Minute)
	require.NoError(b, err)
	deduplicated := wrap(func(msg *message.Message) ([]*message.Message, error) { return nil, bare(msg) })
	contender := func(name string, handle func(*message.Message) error) compare.Contender {
		_, err := deliver(b.Context(), lanes, lanes*20, handle) // connections and statements
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.transactions, Run: func(int) (time.Duration, error) {
			return deliver(b.Context(), lanes, size.transactions, handle)
		}}
	}
	leat := contender("leat", in.Handle(inTx(effect)))
	watermill := contender("watermill-deduplicator", func(msg *message.Message) error {
		_, err := deduplicated(msg)
		return err
	})
	none := contender("bare", bare)

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", leat, watermill, none)
	b.StopTimer()
	requireEffects(b, db.Pool)
}
