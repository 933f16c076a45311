package brokertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	wmnats "github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/natssink"
	"github.com/leat-go/leat/outbox/wmsink"
)

const benchLanes = 64

// BenchmarkNATS sends pages of 500 records of 512 bytes to JetStream, in turn through wmsink, through
// natssink, with the bare client in the way natssink uses it, and piped, where the server itself refuses a
// record that does not follow the one before. The metrics are records per second. Those with -x-wmsink are
// relative to wmsink, and x-bare is natssink relative to the bare client.
func BenchmarkNATS(b *testing.B) {
	for _, keys := range []int{10, 500} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) { benchNATS(b, keys) })
	}
}

func benchNATS(b *testing.B, keys int) {
	b.Helper()
	url := natsServer(b)
	conn, err := nats.Connect(url)
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	js, err := conn.JetStream(nats.PublishAsyncMaxPending(1000))
	require.NoError(b, err)
	for _, topic := range []string{"wmsink", "natssink", "bare", "piped"} {
		_, err := js.AddStream(&nats.StreamConfig{Name: topic, Subjects: []string{topic}, Storage: nats.FileStorage, MaxMsgs: 20_000})
		require.NoError(b, err)
	}
	publisher, err := wmnats.NewPublisher(wmnats.PublisherConfig{
		URL: url, Marshaler: &wmnats.NATSMarshaler{},
	}, watermill.NopLogger{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, publisher.Close()) })
	watermillSink, err := wmsink.New(publisher, wmsink.Config{Lanes: benchLanes})
	require.NoError(b, err)
	sink, err := natssink.New(url, natssink.Config{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, sink.Close()) })

	n := 0
	through := func(sink driver.Sink) func(ctx context.Context, records []outbox.Record) error {
		return func(ctx context.Context, records []outbox.Record) error {
			var errs []error
			for _, r := range sink.Send(ctx, records) {
				errs = append(errs, r.Err)
			}
			return errors.Join(errs...)
		}
	}
	ways := map[string]func(ctx context.Context, records []outbox.Record) error{
		"wmsink":   through(watermillSink),
		"natssink": through(sink),
		"bare":     func(_ context.Context, records []outbox.Record) error { return bareNATS(js, records, keys) },
		"piped":    func(_ context.Context, records []outbox.Record) error { return pipedNATS(js, records) },
	}
	took := make(map[string]time.Duration)
	for b.Loop() {
		for _, topic := range []string{"wmsink", "natssink", "bare", "piped"} {
			page := make([]outbox.Record, 500)
			for i := range page {
				n++
				page[i] = outbox.Record{Seq: int64(n), CreatedAt: time.Now(), Message: outbox.Message{
					ID: fmt.Sprintf("id-%d", n), Topic: topic, Key: fmt.Sprintf("key-%d", i%keys), Payload: make([]byte, 512),
				}}
			}
			began := time.Now()
			require.NoError(b, ways[topic](b.Context(), page))
			took[topic] += time.Since(began)
		}
	}
	for topic, d := range took {
		b.ReportMetric(float64(500*b.N)/d.Seconds(), topic+"/s")
	}
	b.ReportMetric(float64(took["wmsink"])/float64(took["natssink"]), "natssink-x-wmsink")
	b.ReportMetric(float64(took["wmsink"])/float64(took["piped"]), "piped-x-wmsink")
	b.ReportMetric(float64(took["bare"])/float64(took["natssink"]), "x-bare")
	b.ReportMetric(0, "ns/op")
}

func natsMessage(r *outbox.Record) *nats.Msg {
	m := nats.NewMsg(r.Topic)
	m.Data = r.Payload
	m.Header.Set(nats.MsgIdHdr, r.ID)
	m.Header.Set(outbox.HeaderWatermillUUID, r.ID)
	m.Header.Set(outbox.HeaderKey, r.Key)
	m.Header.Set(outbox.HeaderEventTime, outbox.FormatEventTime(r.EventTime()))
	return m
}

// bareNATS keeps one record of each key in flight, 256 at most.
func bareNATS(js nats.JetStreamContext, records []outbox.Record, keys int) error {
	var under []nats.PubAckFuture
	for i := range records {
		f, err := js.PublishMsgAsync(natsMessage(&records[i]))
		if err != nil {
			return err
		}
		if under = append(under, f); len(under) == min(keys, 256) {
			if err := acked(under); err != nil {
				return err
			}
			under = under[:0]
		}
	}
	return acked(under)
}

// pipedNATS keeps the whole page in flight: the server refuses a record unless it follows the one before.
func pipedNATS(js nats.JetStreamContext, records []outbox.Record) error {
	var under []nats.PubAckFuture
	for i := range records {
		m := natsMessage(&records[i])
		if i > 0 {
			m.Header.Set(nats.ExpectedLastMsgIdHdr, records[i-1].ID)
		}
		f, err := js.PublishMsgAsync(m)
		if err != nil {
			return err
		}
		under = append(under, f)
	}
	return acked(under)
}

func acked(futures []nats.PubAckFuture) error {
	for _, f := range futures {
		select {
		case <-f.Ok():
		case err := <-f.Err():
			return err
		}
	}
	return nil
}
