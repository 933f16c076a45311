package kafkasink_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO7_ServerThatNeverComesToAnEnd: a call ends with its context although the server is silent from the start,
// or sends its answer a byte at a time.
func TestO7_ServerThatNeverComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{"silent": "", "drips": "\x00\x00\x0f\xff"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var results []outbox.Result
			require.NoError(t, faultnet.Endless(t.Context(), says, func(address string) func(context.Context) {
				s := newSink(t, []string{address}, kafkasink.Config{})
				return func(ctx context.Context) {
					results = s.Send(ctx, []outbox.Record{{Message: outbox.Message{ID: "1", Topic: "t"}}})
				}
			}))
			require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[0].Err), results[0].Err)
		})
	}
}
