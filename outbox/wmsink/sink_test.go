package wmsink_test

import (
	"context"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
)

// failOn returns a check that fails the messages with the given ids.
func failOn(err error, ids ...string) func(string, *message.Message) error {
	return func(_ string, msg *message.Message) error {
		if slices.Contains(ids, msg.UUID) {
			return err
		}
		return nil
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	_, err := wmsink.New(nil, wmsink.Config{})
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	for _, lanes := range []int{-1, 1025} {
		_, err = wmsink.New(&log{}, wmsink.Config{Lanes: lanes})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "Lanes = ")
	}
}

func TestO4_MessageCarriesEveryField(t *testing.T) {
	t.Parallel()
	pub := &log{}
	s := newSink(t, pub, wmsink.Config{})
	sent := record("orders", "customer-1", 1)
	sent.Type, sent.Headers = "OrderPlaced", map[string]string{"traceparent": "00-1"}
	type ctxKey struct{}
	ctx := context.WithValue(t.Context(), ctxKey{}, "value")
	results := s.Send(ctx, []outbox.Record{sent})
	require.Equal(t, []string{"delivered"}, kindsOf(results))

	require.Len(t, pub.msgs, 1)
	got := pub.msgs[0]
	require.Equal(t, "orders", got.topic)
	require.True(t, outbox.ToWatermill(&sent).Equals(got.msg))
	require.Equal(t, "value", got.msg.Context().Value(ctxKey{}))
	sent.Payload[0] = 'x'
	require.Equal(t, []byte("1"), []byte(got.msg.Payload), "a publisher may keep the message")
}

func TestO7_FailureHoldsBackItsKeyOnly(t *testing.T) {
	t.Parallel()
	for _, kind := range []outbox.FailureKind{outbox.FailureUnknown, outbox.FailurePermanent} {
		pub := &log{before: failOn(errPublish, "2")}
		s := newSink(t, pub, wmsink.Config{Lanes: 1, Classify: func(error) outbox.FailureKind { return kind }})
		results := s.Send(t.Context(), []outbox.Record{
			record("t", "a", 1), record("t", "a", 2), record("t", "b", 3), record("t", "a", 4),
			record("u", "a", 5), record("t", "", 6), record("t", "b", 7), record("t", "", 8),
		})
		require.Equal(t, []string{
			"delivered", kind.String(), "delivered", "not_sent", "delivered", "delivered", "delivered", "delivered",
		}, kindsOf(results))
		require.ErrorIs(t, results[1].Err, errPublish)
		require.Equal(t, []string{"1", "3", "5", "6", "7", "8"}, pub.ids())
	}
}

func TestO8_OutageEndsItsTopicInTheLane(t *testing.T) {
	t.Parallel()
	pub := &log{before: failOn(&net.OpError{Op: "dial", Err: errPublish}, "2")}
	s := newSink(t, pub, wmsink.Config{Lanes: 1})
	sent := []outbox.Record{record("t", "a", 1), record("t", "a", 2), record("t", "b", 3), record("u", "a", 4), record("t", "", 5)}
	results := s.Send(t.Context(), sent)
	require.Equal(t, []string{"delivered", "outage", "not_sent", "delivered", "not_sent"}, kindsOf(results))

	pub.before = nil
	require.Equal(t, []string{"delivered", "delivered", "delivered"}, kindsOf(s.Send(t.Context(), unsent(sent, results))))
}

func TestSend_KindThatIsNoVerdictCountsAsUnknown(t *testing.T) {
	t.Parallel()
	for _, kind := range []outbox.FailureKind{outbox.FailureNotSent, 99} {
		pub := &log{before: failOn(errPublish, "1")}
		s := newSink(t, pub, wmsink.Config{Classify: func(error) outbox.FailureKind { return kind }})
		require.Equal(t, []string{"unknown"}, kindsOf(s.Send(t.Context(), records(1, 1))))
	}
}

func TestSend_PanicIsAFailure(t *testing.T) {
	t.Parallel()
	for _, lanes := range []int{1, 8} {
		pub := &log{before: func(_ string, msg *message.Message) error {
			if msg.UUID == "2" {
				panic("boom")
			}
			return nil
		}}
		s := newSink(t, pub, wmsink.Config{Lanes: lanes})
		results := s.Send(t.Context(), records(6, 2))
		require.Equal(t, []string{"delivered", "unknown", "delivered", "not_sent", "delivered", "not_sent"}, kindsOf(results))
		require.ErrorIs(t, results[1].Err, wmsink.ErrPanic)
		require.ErrorContains(t, results[1].Err, "boom")
		require.NoError(t, s.Wait(t.Context()))
	}
}

// A goroutine that ends inside Publish settles nothing. Its record must not look
// delivered.
func TestSend_GoexitIsAFailure(t *testing.T) {
	t.Parallel()
	pub := &log{before: func(string, *message.Message) error {
		runtime.Goexit()
		return nil
	}}
	s := newSink(t, pub, wmsink.Config{Lanes: 1})
	require.Equal(t, []string{"outage", "not_sent"}, kindsOf(s.Send(t.Context(), records(2, 1))))
	require.NoError(t, s.Wait(t.Context()))
}

func TestDefaultClassify(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want outbox.FailureKind
	}{
		{context.DeadlineExceeded, outbox.FailureOutage},
		{io.EOF, outbox.FailureOutage},
		{&net.DNSError{}, outbox.FailureOutage},
		{outbox.Failed(outbox.FailurePermanent, errPublish).Err, outbox.FailurePermanent},
		{errPublish, outbox.FailureUnknown},
	} {
		require.Equal(t, test.want, wmsink.DefaultClassify(test.err), test.err)
	}
}

// BenchmarkLanes publishes pages of 6,400 records through a publisher that takes
// 5 ms a message. Metric x-one-lane is the speed-up of 64 lanes over one, whose
// time a record is that of the publisher.
func BenchmarkLanes(b *testing.B) {
	const takes = 5 * time.Millisecond
	pub := &log{before: func(_ string, msg *message.Message) error {
		return wait.For(msg.Context(), takes)
	}}
	page := records(6400, 6400)
	one, many := newSink(b, pub, wmsink.Config{Lanes: 1}), newSink(b, pub, wmsink.Config{Lanes: 64})
	began := time.Now()
	const few = 100
	require.Empty(b, unsent(page[:few], one.Send(b.Context(), page[:few])))
	alone := time.Since(began) / few

	var took time.Duration
	for b.Loop() {
		pub.msgs = nil
		began := time.Now()
		require.Empty(b, unsent(page, many.Send(b.Context(), page)))
		took += time.Since(began)
	}
	each := took / time.Duration(b.N*len(page))
	b.ReportMetric(float64(alone)/float64(each), "x-one-lane")
}
