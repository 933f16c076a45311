package amqpsink_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// TestO7_ServerThatNeverComesToAnEnd: a call ends with its context although the server is silent from the start,
// or sends its answer a byte at a time.
func TestO7_ServerThatNeverComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"silent": "", "drips": "\x01\x00\x00\x00\xff\xff\xff", "heartbeats": "\x08\x00\x00\x00\x00\x00\x00\xce"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, err := faultnet.Serve(func(ctx context.Context, conn net.Conn) { faultnet.Drip(ctx, conn, says) })
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, server.Close()) })
			s := newSink(t, "amqp://guest:guest@"+server.Address()+"/", amqpsink.Config{})
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			done := make(chan []outbox.Result, 1)
			go func() { done <- s.Send(ctx, []outbox.Record{{Message: outbox.Message{ID: "1", Topic: "t"}}}) }()
			select {
			case results := <-done:
				require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err), results[0].Err)
			case <-time.After(5 * time.Second):
				require.FailNow(t, "the call goes on without its context")
			}
		})
	}
}
