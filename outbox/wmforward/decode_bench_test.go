package wmforward

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// BenchmarkDecode makes a record of a row of the forwarder's table, with 512 bytes of
// payload.
func BenchmarkDecode(b *testing.B) {
	raw, err := json.Marshal(map[string]any{
		"destination_topic": "orders", "uuid": "0190163d-8694-739b-aea5-966c26f8ad91", "payload": make([]byte, 512),
		"metadata": map[string]string{
			outbox.HeaderKey: "customer-17", "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		},
	})
	require.NoError(b, err)
	r := row{number: 17, uuid: "row-17", createdAt: time.Now(), payload: raw}
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if record, err := decode(r, nil); err != nil || record.Key != "customer-17" {
			b.Fatal(record, err)
		}
	}
}
