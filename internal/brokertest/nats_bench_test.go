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
	"github.com/leat-go/leat/outbox/wmsink"
)

const benchLanes = 64

// BenchmarkNATS sends pages of 500 records of 512 bytes to JetStream in turns: through wmsink, and as a sink of NATS'
// client alone would, strictly with one record of a key under way, or piped, where the broker
// itself refuses what does not follow the record before. Metrics are records a second; those with -x-wmsink are by
// that of wmsink. They are why there is no natssink: docs/brokers.md.
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
	for _, topic := range []string{"wmsink", "strict", "piped"} {
		_, err := js.AddStream(&nats.StreamConfig{Name: topic, Subjects: []string{topic}, Storage: nats.FileStorage, MaxMsgs: 20_000})
		require.NoError(b, err)
	}
	publisher, err := wmnats.NewPublisher(wmnats.PublisherConfig{
		URL: url, Marshaler: &wmnats.NATSMarshaler{}, JetStream: wmnats.JetStreamConfig{TrackMsgId: true},
	}, watermill.NopLogger{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, publisher.Close()) })
	sink, err := wmsink.New(publisher, wmsink.Config{Lanes: benchLanes})
	require.NoError(b, err)

	n := 0
	ways := map[string]func(ctx context.Context, records []outbox.Record) error{
		"wmsink": func(ctx context.Context, records []outbox.Record) error {
			var errs []error
			for _, r := range sink.Send(ctx, records) {
				errs = append(errs, r.Err)
			}
			return errors.Join(errs...)
		},
		"strict": func(_ context.Context, records []outbox.Record) error { return strictNATS(js, records, keys) },
		"piped":  func(_ context.Context, records []outbox.Record) error { return pipedNATS(js, records) },
	}
	took := make(map[string]time.Duration)
	for b.Loop() {
		for _, topic := range []string{"wmsink", "strict", "piped"} {
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
		if topic != "wmsink" {
			b.ReportMetric(float64(took["wmsink"])/float64(d), topic+"-x-wmsink")
		}
	}
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

// strictNATS has one record of each key under way, up to benchLanes of them.
func strictNATS(js nats.JetStreamContext, records []outbox.Record, keys int) error {
	var under []nats.PubAckFuture
	for i := range records {
		f, err := js.PublishMsgAsync(natsMessage(&records[i]))
		if err != nil {
			return err
		}
		if under = append(under, f); len(under) == min(keys, benchLanes) {
			if err := acked(under); err != nil {
				return err
			}
			under = under[:0]
		}
	}
	return acked(under)
}

// pipedNATS has the whole page under way: each record is refused unless it follows the one before.
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
