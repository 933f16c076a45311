package benchmarks

import (
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// BenchmarkInboxFailures measures what a failure policy, and a note beside the id,
// cost messages that do not fail: the handler of BenchmarkInboxHandler behind an
// inbox that blocks, and behind others.
func BenchmarkInboxFailures(b *testing.B) {
	eachServer(b, func(b *testing.B, db *testenv.Database) {
		b.Helper()
		for _, lanes := range []int{1, 8} {
			b.Run(fmt.Sprintf("lanes=%d", lanes), func(b *testing.B) { inboxFailures(b, db, lanes) })
		}
	})
}

func inboxFailures(b *testing.B, db *testenv.Database, lanes int) {
	b.Helper()
	size := scale(b).inbox
	logSettings(b, db, nil)
	park := inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}
	configs := []struct {
		name string
		cfg  pginbox.Config
	}{
		{"block", pginbox.Config{}},
		{"park", pginbox.Config{Config: park}},
		{"park-sync", pginbox.Config{Config: park, SyncAttempts: true}},
		{"fingerprint", pginbox.Config{Config: inbox.Config{Fingerprint: inbox.FingerprintPayload}}},
	}
	contenders := make([]compare.Contender, len(configs))
	for i, c := range configs {
		in, err := pginbox.New(db.Pool, c.name, c.cfg)
		require.NoError(b, err)
		handle := func(msg *message.Message) error {
			return in.Handle(inTx(effect))(msg)
		}
		_, err = deliver(b.Context(), lanes, lanes*20, handle) // connections and statements
		require.NoError(b, err)
		contenders[i] = compare.Contender{Name: c.name, Ops: size.transactions, Run: func(int) (time.Duration, error) {
			return deliver(b.Context(), lanes, size.transactions, handle)
		}}
	}

	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", contenders...)
	b.StopTimer()
	requireEffects(b, db.Pool)
}
