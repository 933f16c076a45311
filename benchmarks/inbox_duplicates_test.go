package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxDuplicates measures how fast the inbox rejects messages that it has
// processed, against the bare transactions that they would have taken.
func BenchmarkInboxDuplicates(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { inboxDuplicates(b, db, lanes) })
		}
	})
}

func inboxDuplicates(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	size := scale(b).inbox
	logSettings(b, db, nil)
	earlier, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{}) // an inbox has one handler
	require.NoError(b, err)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	seen, err := newMessages(b.Context(), 1000)
	require.NoError(b, err)
	for _, msg := range seen {
		require.NoError(b, earlier.Handle(inTx(effect))(msg))
	}
	handle := in.Handle(func(context.Context, *message.Message) error {
		return errors.New("a duplicate has reached the handler")
	})
	run := func(handle func(*message.Message) error) func(int) (time.Duration, error) {
		return func(int) (time.Duration, error) { return deliver(b.Context(), lanes, size.transactions, handle) }
	}
	bare := run(bareEffect(db.Pool))
	again := run(func(msg *message.Message) error {
		first := seen[(int(msg.Payload[0])<<8|int(msg.Payload[1]))%len(seen)]
		repeat := message.NewMessage(first.UUID, first.Payload)
		repeat.SetContext(b.Context())
		return handle(repeat)
	})
	for _, warmUp := range []func(int) (time.Duration, error){again, bare} {
		_, err := warmUp(0)
		require.NoError(b, err)
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: size.transactions, Run: again},
		compare.Contender{Name: "bare", Ops: size.transactions, Run: bare},
	)
}
