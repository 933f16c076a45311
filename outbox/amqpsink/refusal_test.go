package amqpsink_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// records returns n records of topic over so many keys in turns, whose payloads are their numbers.
func records(topic string, n, keys int) []outbox.Record {
	out := make([]outbox.Record, n)
	for i := range out {
		out[i] = outbox.Record{
			Seq: int64(i + 1), CreatedAt: time.Unix(int64(i), 0),
			Message: outbox.Message{
				ID: fmt.Sprintf("id-%d", i+1), Topic: topic, Key: fmt.Sprintf("key-%d", i%keys), Payload: fmt.Appendf(nil, "%d", i+1),
			},
		}
	}
	return out
}

// kinds counts results by kind; delivered ones are "ok".
func kinds(results []outbox.Result) map[string]int {
	counts := make(map[string]int)
	for _, r := range results {
		kind := "ok"
		if r.Err != nil {
			kind = outbox.KindOf(r.Err).String()
		}
		counts[kind]++
	}
	return counts
}

// rest returns the records that were not acknowledged.
func rest(records []outbox.Record, results []outbox.Result) []outbox.Record {
	var out []outbox.Record
	for i := range results {
		if results[i].Err != nil {
			out = append(out, records[i])
		}
	}
	return out
}

// fill is a queue that takes n messages and refuses more until some are taken out.
func fill(t *testing.T, url string, n int) *amqp.Channel {
	t.Helper()
	channel := connect(t, url)
	declareQueue(t, channel, "q", amqp.Table{"x-max-length": n, "x-overflow": "reject-publish"})
	return channel
}

// drain takes everything out of queue q, while it goes in.
func drain(t *testing.T, channel *amqp.Channel) (got chan string) {
	t.Helper()
	deliveries, err := channel.ConsumeWithContext(t.Context(), "q", "", true, false, false, false, nil)
	require.NoError(t, err)
	got = make(chan string, 10_000)
	go func() {
		defer close(got)
		for d := range deliveries {
			got <- string(d.Body)
		}
	}()
	return got
}

// TestO5_FullQueueRefusesWhileItIsDrained: a queue with reject-publish is full again and again while a
// page is sent. What it takes of a key is in order, without a gap.
func TestO5_FullQueueRefusesWhileItIsDrained(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	got := drain(t, fill(t, url, 2))
	s := newSink(t, url, amqpsink.Config{Queues: true})
	sent := records("q", 600, 3)
	ctx := within(t, patience)
	refused := 0
	for page := sent; len(page) > 0; {
		results := s.Send(ctx, page)
		require.Zero(t, kinds(results)["permanent"]+kinds(results)["outage"], "%v", kinds(results))
		refused += kinds(results)["unknown"]
		page = rest(page, results)
	}
	last := make(map[int]int)
	for range sent {
		var seq int
		_, err := fmt.Sscan(<-got, &seq)
		require.NoError(t, err)
		key := seq % 3
		require.Equal(t, last[key], max(0, seq-3), "of key %d", key)
		last[key] = seq
	}
	t.Log("refused", refused)
}

// TestO5_ControlPipelinedKey: the form that the sink does not use. All records of a key are published
// before the first confirm, and the broker takes the one behind the one that it refuses.
func TestO5_ControlPipelinedKey(t *testing.T) {
	t.Parallel()
	b := newRefusing(t, testenv.Rabbit(t).URL, classic())
	_, err := b.Refuse(t.Context(), "a", "2")
	require.NoError(t, err)
	channel := connect(t, b.url)
	require.NoError(t, channel.Confirm(false))
	var confirms []*amqp.DeferredConfirmation
	for _, id := range []string{"1", "2", "3"} {
		c, err := channel.PublishWithDeferredConfirm("a", "", true, false, amqp.Publishing{Headers: amqp.Table{"event-id": id}})
		require.NoError(t, err)
		confirms = append(confirms, c)
	}
	var took []bool
	for _, c := range confirms {
		ok, err := c.WaitContext(within(t, patience))
		require.NoError(t, err)
		took = append(took, ok)
	}
	require.Equal(t, []bool{true, false, true}, took)
}

// TestO7_LimitOfTheBroker: a broker that takes less than the sink believes closes the channel with all
// that is under way. The sink learns the limit, and fails the one record for good.
//
//leat:level 4
func TestO7_LimitOfTheBroker(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker")
	server := testenv.PrivateRabbit(t, "max_message_size = 1000\n")
	declareQueue(t, connect(t, server.URL), "q", nil)
	s := newSink(t, server.URL, amqpsink.Config{Queues: true})
	sent := records("q", 30, 5)
	sent[12].Payload = make([]byte, 1001)
	results := s.Send(within(t, patience), sent)
	require.Zero(t, kinds(results)["permanent"])
	require.Positive(t, kinds(results)["outage"])

	left := rest(sent, results)
	results = s.Send(within(t, patience), left)
	require.Equal(t, 1, kinds(results)["permanent"], "%v", kinds(results))
	for i := range results {
		if outbox.KindOf(results[i].Err) == outbox.FailurePermanent {
			require.Equal(t, "id-13", left[i].ID)
			require.ErrorContains(t, results[i].Err, "has 1001 bytes, the broker takes 1000")
		}
	}
	require.Zero(t, kinds(results)["outage"]+kinds(results)["unknown"])

	s.Age(amqpsink.LearnedFor)
	large := sent[12:13]
	require.Equal(t, map[string]int{"outage": 1}, kinds(s.Send(within(t, patience), large)), "the broker is asked again")
	require.Equal(t, map[string]int{"permanent": 1}, kinds(s.Send(within(t, patience), large)))
}

// TestO8_BlockedBroker: a broker whose memory is full reads nothing. It is an outage that says why, and over
// as soon as there is memory.
//
//leat:level 4
func TestO8_BlockedBroker(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a broker")
	server := testenv.PrivateRabbit(t, "")
	declareQueue(t, connect(t, server.URL), "q", nil)
	s := newSink(t, server.URL, amqpsink.Config{Queues: true})
	sent := records("q", 50, 5)
	require.Equal(t, map[string]int{"ok": 50}, kinds(s.Send(within(t, patience), sent)))
	server.Starve()
	results := s.Send(within(t, 3*time.Second), sent)
	require.Equal(t, map[string]int{"outage": 5, "not_sent": 45}, kinds(results))
	require.ErrorIs(t, results[0].Err, context.DeadlineExceeded)
	require.ErrorContains(t, results[0].Err, "blocked its publishers")
	server.Feed()
	require.Equal(t, map[string]int{"ok": 50}, kinds(s.Send(within(t, patience), sent)))
}
