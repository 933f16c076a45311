package kafkasink_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// TestO4_Tombstones: a null is sent if it is asked for, and only then.
func TestO4_Tombstones(t *testing.T) {
	t.Parallel()
	for _, format := range []kafkasink.Format{kafkasink.FormatLeat, kafkasink.FormatWatermill} {
		c := cluster(t, "t", 1)
		s := newSink(t, c.ListenAddrs(), kafkasink.Config{Format: format})
		var sent []outbox.Record
		for i, payload := range [][]byte{nil, {}, []byte("x"), {}} {
			r := record("t", "k", int64(i), 0)
			r.Payload, r.Headers = payload, map[string]string{outbox.HeaderTombstone: "true", "a": "b"}
			sent = append(sent, r)
		}
		delete(sent[3].Headers, outbox.HeaderTombstone)
		requireDelivered(t, s.Send(within(t, patience), sent))
		log := read(t, c.ListenAddrs(), "t")
		require.Len(t, log, len(sent))
		for i, r := range log {
			var names []string
			for _, h := range r.Headers {
				names = append(names, h.Key)
			}
			require.Equal(t, i < 2, r.Value == nil, "%d", i)
			require.Equal(t, i == 2, slices.Contains(names, outbox.HeaderTombstone), "%d: %v", i, names)
			require.Contains(t, names, "a")
		}
	}
}
