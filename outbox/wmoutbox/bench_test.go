package wmoutbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/txctx"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// sieve is an outbox that counts what it is given and keeps nothing.
type sieve struct{ messages int }

func (s *sieve) EnqueueContext(_ context.Context, msgs ...outbox.Message) error {
	s.messages += len(msgs)
	return nil
}

func (*sieve) Wake() {}

// benchMessages returns n messages with a key, a trace and a transaction.
func benchMessages(ctx context.Context, n int) []*message.Message {
	ctx = txctx.With(ctx, &fakeTx{"bench"})
	msgs := make([]*message.Message, n)
	for i := range msgs {
		msgs[i] = message.NewMessageWithContext(ctx, watermill.NewUUID(), make([]byte, 512))
		msgs[i].Metadata.Set(outbox.HeaderKey, fmt.Sprintf("customer-%d", i))
		msgs[i].Metadata.Set("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	}
	return msgs
}

// BenchmarkPublish enqueues through the publisher, in an outbox that costs nothing.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			ob := &sieve{}
			publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
			require.NoError(b, err)
			msgs := benchMessages(b.Context(), n)
			b.ReportAllocs()
			for b.Loop() {
				if err := publisher.Publish("orders", msgs...); err != nil {
					b.Fatal(err)
				}
			}
			require.Equal(b, b.N*n, ob.messages)
		})
	}
}
