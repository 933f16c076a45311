package benchmarks

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxTwoTier measures what a cache in front of the inbox saves where all
// messages are duplicates: the same redeliveries with the cache and without it.
func BenchmarkInboxTwoTier(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		size := scale(b).inbox
		logSettings(b, db, nil)
		in, err := pginbox.New(db.Pool, "duplicates", pginbox.Config{})
		require.NoError(b, err)
		tiers, err := twotier.New(in.Processor, twotier.Config{Scope: in.Scope})
		require.NoError(b, err)
		ids := make([]string, 100)
		nothing := func(context.Context) error { return nil }
		for i := range ids {
			ids[i] = uuid.Must(uuid.NewV7()).String()
			_, err := tiers.Process(b.Context(), message.NewMessage(ids[i], nil), nothing)
			require.NoError(b, err)
		}
		run := func(in inbox.Runner) func(int) (time.Duration, error) {
			return func(int) (time.Duration, error) {
				return deliver(b.Context(), 8, size.transactions, func(msg *message.Message) error {
					again := message.NewMessage(ids[int(msg.Payload[0])%len(ids)], nil)
					_, err := in.Process(b.Context(), again, nothing)
					return err
				})
			}
		}
		b.ResetTimer()
		compare.Rounds(b, size.rounds, only(), "msg/s",
			compare.Contender{Name: "cached", Ops: size.transactions, Run: run(tiers)},
			compare.Contender{Name: "inbox", Ops: size.transactions, Run: run(in)},
		)
	})
}
