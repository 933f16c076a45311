package kafkasink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO4_FormatOutlastsTheClient: a copy that is sent after a failure looks like the
// one before.
func TestO4_FormatOutlastsTheClient(t *testing.T) {
	t.Parallel()
	c := cluster(t, "t", 1)
	s := newSink(t, c.ListenAddrs(), kafkasink.Config{Format: kafkasink.FormatWatermill})
	for range 2 {
		requireDelivered(t, s.Send(within(t, patience), []outbox.Record{record("t", "k", 1, 0)}))
		kafkasink.Drop(s)
	}
	log := read(t, c.ListenAddrs(), "t")
	require.Len(t, log, 2)
	require.Equal(t, log[0].Headers, log[1].Headers)
}
