package inbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// freeStore is a store that costs nothing: it answers every claim alike, with itself
// as the unit.
type freeStore struct {
	status  driver.Status
	commits int
}

func (s *freeStore) Claim(context.Context, string) (driver.Unit, driver.Status, error) {
	if s.status != driver.Claimed {
		return nil, s.status, nil
	}
	return s, s.status, nil
}

func (s *freeStore) ClaimBatch(_ context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	statuses := make([]driver.Status, len(items))
	for i := range statuses {
		statuses[i] = s.status
	}
	if s.status != driver.Claimed {
		return nil, statuses, nil
	}
	return s, statuses, nil
}

func (*freeStore) Context(ctx context.Context) context.Context { return ctx }

func (s *freeStore) Commit(context.Context) error {
	s.commits++
	return nil
}

func (*freeStore) Rollback(context.Context) error { return nil }

// tally counts deliveries.
type tally struct{ n int }

func (t *tally) OnInboxDelivery(context.Context, inbox.DeliveryEvent) { t.n++ }

func benchMessage(i int) *message.Message {
	msg := message.NewMessage(fmt.Sprintf("0190163d-8694-739b-aea5-%012x", i), make([]byte, 512))
	msg.Metadata.Set(outbox.HeaderKey, fmt.Sprintf("customer-%d", i%1000))
	return msg
}

// BenchmarkProcess delivers a message to a handler that does nothing, through a store
// that costs nothing: what is left is the inbox's own work.
func BenchmarkProcess(b *testing.B) {
	hook := &tally{}
	for _, bench := range []struct {
		name   string
		status driver.Status
		want   inbox.Outcome
		cfg    inbox.Config
	}{
		{"first", driver.Claimed, inbox.OutcomeCommitted, inbox.Config{}},
		{"first/hook", driver.Claimed, inbox.OutcomeCommitted, inbox.Config{Hooks: []outbox.Hook{hook}}},
		{"duplicate", driver.Duplicate, inbox.OutcomeDuplicate, inbox.Config{}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p, err := inbox.New(&freeStore{status: bench.status}, "tester", bench.cfg)
			require.NoError(b, err)
			msg := benchMessage(1)
			handle := func(context.Context) error { return nil }
			hook.n = 0
			b.ReportAllocs()
			for b.Loop() {
				if outcome, err := p.Process(b.Context(), msg, handle); err != nil || outcome != bench.want {
					b.Fatal(outcome, err)
				}
			}
			require.Equal(b, len(bench.cfg.Hooks)*b.N, hook.n)
		})
	}
}

// BenchmarkBatch delivers a hundred messages in one transaction, likewise.
func BenchmarkBatch(b *testing.B) {
	const size = 100
	for _, status := range []driver.Status{driver.Claimed, driver.Duplicate} {
		b.Run(status.String(), func(b *testing.B) {
			store := &freeStore{status: status}
			p, err := inbox.New(store, "tester", inbox.Config{})
			require.NoError(b, err)
			batch, err := inbox.NewBatch(p, inbox.BatchConfig{})
			require.NoError(b, err)
			msgs := make([]*message.Message, size)
			for i := range msgs {
				msgs[i] = benchMessage(i)
			}
			handled := 0
			handle := func(_ context.Context, msgs []*message.Message) error {
				handled += len(msgs)
				return nil
			}
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range batch.Process(b.Context(), msgs, handle) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			require.Equal(b, store.commits*size, handled)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/message")
		})
	}
}

// BenchmarkChildID derives the id of a message that a handler makes.
func BenchmarkChildID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if id := inbox.ChildID("0190163d-8694-739b-aea5-966c26f8ad91", "billing", "invoice"); len(id) != 36 {
			b.Fatal(id)
		}
	}
}
