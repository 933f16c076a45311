package pgoutbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// BenchmarkStatement makes the INSERT of one message, and of a hundred, without
// running it: what Enqueue does outside the database.
func BenchmarkStatement(b *testing.B) {
	ob, _ := newOutbox(b, pgoutbox.Config{})
	for _, n := range []int{1, 100} {
		msgs := make([]outbox.Message, n)
		for i := range msgs {
			msgs[i] = outbox.Message{Topic: "orders", Key: fmt.Sprintf("key-%08d", i), Payload: make([]byte, 512)}
		}
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				query, args, err := ob.InsertStatement(context.Background(), msgs)
				require.NoError(b, err)
				require.NotEmpty(b, query)
				require.NotEmpty(b, args)
			}
		})
	}
}
