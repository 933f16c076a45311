package wmsink_test

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// slow is a synchronous publisher that takes its time, and looks at the order of
// the numbers in the payloads of each key.
type slow struct {
	takes time.Duration

	mu       sync.Mutex
	last     map[string]uint64
	inverted int
}

var _ message.Publisher = (*slow)(nil)

func (s *slow) Publish(topic string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		<-time.After(s.takes)
		s.mu.Lock()
		key, number := topic+"/"+string(msg.Payload[8:]), binary.BigEndian.Uint64(msg.Payload)
		if number <= s.last[key] {
			s.inverted++
		}
		s.last[key] = number
		s.mu.Unlock()
	}
	return nil
}

func (*slow) Close() error { return nil }

// BenchmarkSend_SlowPublisher compares 64 lanes with one, in front of a publisher
// that takes 5 ms a message: x-lanes is how many times faster the 64 are. What
// keeps it from 64 is that the keys, by chance, do not fill all lanes alike.
func BenchmarkSend_SlowPublisher(b *testing.B) {
	const lanes, keys = 64, 2000
	many, few := 6400, 100
	if testing.Short() {
		many, few = 1280, 20
	}
	rate := func(lanes, count int) float64 {
		publisher := &slow{takes: 5 * time.Millisecond, last: make(map[string]uint64)}
		sink, err := wmsink.New(publisher, wmsink.Config{Lanes: lanes})
		require.NoError(b, err)
		records := make([]outbox.Record, count)
		for i := range records {
			key := fmt.Sprintf("key-%d", i%keys)
			records[i].Message = outbox.Message{
				ID: strconv.Itoa(i), Topic: "orders", Key: key,
				Payload: append(binary.BigEndian.AppendUint64(nil, uint64(i)+1), key...),
			}
			records[i].Seq = int64(i) + 1
		}
		began := time.Now()
		for _, result := range sink.Send(b.Context(), records) {
			require.NoError(b, result.Err)
		}
		took := time.Since(began)
		require.Zero(b, publisher.inverted)
		require.Len(b, publisher.last, min(count, keys))
		return float64(count) / took.Seconds()
	}
	var wide, narrow float64
	for b.Loop() {
		wide += rate(lanes, many)
		narrow += rate(1, few)
	}
	b.ReportMetric(wide/float64(b.N), "msg/s")
	b.ReportMetric(narrow/float64(b.N), "one-lane-msg/s")
	b.ReportMetric(wide/narrow, "x-lanes")
}
