package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxEach measures a handler of single messages in transactions of a hundred
// (HandleEach) against the same one in a transaction of its own (Handle), while some
// messages were processed before and some fail each time.
func BenchmarkInboxEach(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, m := range []mixture{{}, {duplicates: 1}, {duplicates: 30}, {duplicates: 100}, {failures: 1}, {failures: 30}} {
			b.Run(fmt.Sprintf("duplicates=%d/failures=%d", m.duplicates, m.failures), func(b *testing.B) { inboxEach(b, db, m) })
		}
	})
}

// mixture says how many of a hundred messages were processed before, and how many fail.
type mixture struct {
	duplicates, failures int
}

// draw returns as many messages as were seen before.
func (m mixture) draw(ctx context.Context, seen []*message.Message) ([]*message.Message, error) {
	msgs, err := newMessages(ctx, len(seen))
	for i, msg := range msgs {
		if share(msg, 1) < m.duplicates {
			msgs[i] = message.NewMessage(seen[i].UUID, msg.Payload)
			msgs[i].SetContext(ctx)
		}
	}
	return msgs, err
}

// errOnPurpose is the failure of a message.
var errOnPurpose = errors.New("fails on purpose")

// newBatch returns an inbox, and a batch of at most size messages on it.
func newBatch(b *testing.B, db *testenv.Database, size int) (*pginbox.Inbox, *inbox.Batch) {
	b.Helper()
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{
		Config: inbox.Config{OnFailure: inbox.Policy{Delay: inbox.NoDelay}, Logger: slog.New(slog.DiscardHandler)},
	})
	require.NoError(b, err)
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{MaxBatch: size})
	require.NoError(b, err)
	return in, batch
}

func inboxEach(b *testing.B, db *testenv.Database, m mixture) {
	b.Helper()
	const size, lanes = 100, 8

	times := scale(b).batch
	logSettings(b, db, nil)
	in, batch := newBatch(b, db, size)
	_, earlier := newBatch(b, db, size) // an inbox has one handler
	handle := func(ctx context.Context, tx pgx.Tx, msg *message.Message) error {
		if share(msg, 0) < m.failures {
			return errOnPurpose
		}
		return rowByRow(ctx, tx, msg)
	}
	count := max(times.transactions/25, 1) * lanes * size
	seen, err := newMessages(b.Context(), count) // so that no two lanes have the same one in hand
	require.NoError(b, err)
	_, err = inBatches(b.Context(), lanes, size, seen, earlier.Handle(inTx(writeRows)))
	require.NoError(b, err)
	draw := func() ([]*message.Message, error) { return m.draw(b.Context(), seen) }
	own := inTx(handle) // made once: where the compiler inlines it, each copy would be a handler of its own
	one := in.Handle(own)
	single := func(int) (time.Duration, error) {
		msgs, err := draw()
		if err != nil {
			return 0, err
		}
		return deliverThese(lanes, msgs, func(msg *message.Message) error { return unlessOnPurpose(one(msg)) })
	}
	each := func(int) (time.Duration, error) {
		msgs, err := draw()
		if err != nil {
			return 0, err
		}
		return inBatches(b.Context(), lanes, size, msgs, batch.HandleEach(own))
	}
	for range 2 { // connections and statements
		_, err1 := each(0)
		_, err2 := single(0)
		require.NoError(b, errors.Join(err1, err2))
	}

	b.ResetTimer()
	compare.Rounds(b, times.rounds, only(), "msg/s",
		compare.Contender{Name: "leat", Ops: count, Run: each},
		compare.Contender{Name: "single", Ops: count, Run: single},
	)
	b.StopTimer()
	requireRows(b, db.Pool)
}

// share is a number from 0 to 99 that a byte of the message's stands for: the last two of its
// id are random.
func share(msg *message.Message, place int) int { return int(msg.Payload[place]) * 100 / 256 }

func unlessOnPurpose(err error) error {
	if errors.Is(err, errOnPurpose) {
		return nil
	}
	return err
}
