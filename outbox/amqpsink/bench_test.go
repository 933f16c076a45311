package amqpsink_test

import (
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// bare sends records as the sink does, by the client alone: one of each key under way at a time, with
// confirms, mandatory, persistent, and the same headers.
func bare(b *testing.B, channel *amqp.Channel, records []outbox.Record, keys int) {
	b.Helper()
	confirms := make([]*amqp.DeferredConfirmation, 0, keys)
	for i := range records {
		r := &records[i]
		p := amqp.Publishing{
			Body: r.Payload, DeliveryMode: amqp.Persistent, MessageId: r.ID, Timestamp: r.EventTime(),
			Headers: amqp.Table{"event-id": r.ID, "event-time": outbox.FormatEventTime(r.EventTime()), "leat_key": r.Key, "_watermill_message_uuid": r.ID},
		}
		c, err := channel.PublishWithDeferredConfirm("", r.Topic, true, false, p)
		require.NoError(b, err)
		if confirms = append(confirms, c); len(confirms) < keys {
			continue
		}
		for _, c := range confirms {
			require.True(b, c.Wait())
		}
		confirms = confirms[:0]
	}
}

// BenchmarkSend sends pages of 500 records of 512 bytes through the sink and by the bare client, in turns on
// one broker. Metric x-bare is the time of the sink by that of the client.
func BenchmarkSend(b *testing.B) {
	for _, keys := range []int{10, 500} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			url := testenv.Rabbit(b).URL
			channel := connect(b, url)
			require.NoError(b, channel.Confirm(false))
			returned := channel.NotifyReturn(make(chan amqp.Return, 1000))
			declareQueue(b, channel, "q", amqp.Table{"x-max-length": 1000})
			s := newSink(b, url, amqpsink.Config{Queues: true})
			page := records("q", 500, keys)
			for i := range page {
				page[i].Payload = make([]byte, 512)
			}
			var ours, theirs time.Duration
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				require.Equal(b, map[string]int{"ok": 500}, kinds(s.Send(b.Context(), page)))
				ours += time.Since(began)
				began = time.Now()
				bare(b, channel, page, keys)
				theirs += time.Since(began)
			}
			require.Empty(b, returned)
			b.ReportMetric(float64(ours)/float64(theirs), "x-bare")
			b.ReportMetric(float64(500*b.N)/ours.Seconds(), "records/s")
		})
	}
}
