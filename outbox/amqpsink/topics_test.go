package amqpsink_test

import (
	"net/url"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// declareTopics declares an exchange with a queue bound to it for each name.
func declareTopics(tb testing.TB, channel *amqp.Channel, names ...string) {
	tb.Helper()
	for _, name := range names {
		require.NoError(tb, channel.ExchangeDeclare(name, amqp.ExchangeFanout, true, false, false, false, nil))
		declareQueue(tb, channel, name, nil)
		require.NoError(tb, channel.QueueBind(name, "", name, false, nil))
	}
}

// requireUnavailable checks that all of topic's records have failed as those of a topic that is out, and all
// others were delivered.
func requireUnavailable(t *testing.T, records []outbox.Record, results []outbox.Result, topic, says string) {
	t.Helper()
	seen := make(map[string]bool)
	for i := range results {
		key := records[i].Topic + records[i].Key
		switch {
		case records[i].Topic != topic:
			require.NoError(t, results[i].Err)
		case seen[key]:
			require.Equal(t, outbox.FailureNotSent, outbox.KindOf(results[i].Err))
		default:
			require.ErrorIs(t, results[i].Err, outbox.ErrTopicUnavailable)
			require.Equal(t, outbox.FailureOutage, outbox.KindOf(results[i].Err))
			require.ErrorContains(t, results[i].Err, says)
		}
		seen[key] = true
	}
}

// mixed returns records of two topics in turns.
func mixed(a, b string) []outbox.Record {
	sent := records(a, 40, 4)
	for i := range sent {
		if i%2 == 1 {
			sent[i].Topic = b
		}
	}
	return sent
}

// TestO2_QueueDeleted: RabbitMQ confirms what no queue takes. The sink does not.
func TestO2_QueueDeleted(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	channel := connect(t, url)
	declareTopics(t, channel, "there", "gone")
	s := newSink(t, url, amqpsink.Config{})
	sent := mixed("there", "gone")
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), sent)))
	_, err := channel.QueueDelete("gone", false, false, false)
	require.NoError(t, err)
	requireUnavailable(t, sent, s.Send(within(t, patience), sent), "gone", "no queue takes the message")

	permanent := newSink(t, url, amqpsink.Config{UnroutableIsPermanent: true})
	require.Equal(t, map[string]int{"ok": 20, "permanent": 2, "not_sent": 18}, kinds(permanent.Send(within(t, patience), sent)))
	declareTopics(t, channel, "gone")
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), sent)))
}

// TestO7_ExchangeDeleted: an exchange that the sink knows goes away. RabbitMQ closes the channel, with all that
// is under way; the next call knows which topic it was.
func TestO7_ExchangeDeleted(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	channel := connect(t, url)
	declareTopics(t, channel, "there", "gone")
	s := newSink(t, url, amqpsink.Config{})
	sent := mixed("there", "gone")
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), sent)))
	require.NoError(t, channel.ExchangeDelete("gone", false, false))
	require.Zero(t, kinds(s.Send(within(t, patience), sent))["permanent"])
	requireUnavailable(t, sent, s.Send(within(t, patience), sent), "gone", `no exchange 'gone'`)

	available, err := s.CheckTopics(within(t, patience), []string{"gone", "there", "never"})
	require.NoError(t, err)
	require.Equal(t, []string{"there"}, available)
	declareTopics(t, channel, "gone")
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), sent)))
}

// TestO7_NoRightToWrite: an exchange that the user may not write to holds up no other topic.
func TestO7_NoRightToWrite(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	channel := connect(t, env.URL)
	declareTopics(t, channel, "there", "forbidden")
	user := env.User(t, `{"configure":"","write":"^there$","read":""}`)
	s := newSink(t, user, amqpsink.Config{})
	sent := mixed("there", "forbidden")
	require.Zero(t, kinds(s.Send(within(t, patience), sent))["permanent"])
	requireUnavailable(t, sent, s.Send(within(t, patience), sent), "forbidden", `not write to exchange "forbidden"`)
	available, err := s.CheckTopics(within(t, patience), []string{"there", "forbidden"})
	require.NoError(t, err)
	require.Equal(t, []string{"there", "forbidden"}, available, "only a record can show the right to write")
}

func TestCheck(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	s := newSink(t, env.URL, amqpsink.Config{Exchange: "events"})
	require.ErrorContains(t, s.Check(within(t, patience)), `no exchange 'events'`)
	declareTopics(t, connect(t, env.URL), "events")
	require.NoError(t, s.Check(within(t, patience)))

	u, err := url.Parse(env.URL)
	require.NoError(t, err)
	u.User = url.UserPassword("nobody", "secret")
	wrong := newSink(t, u.String(), amqpsink.Config{})
	err = wrong.Check(within(t, patience))
	require.ErrorContains(t, err, "username or password")
	require.NotContains(t, err.Error(), "secret")
	require.Equal(t, map[string]int{"outage": 1, "not_sent": 9}, kinds(wrong.Send(within(t, patience), records("t", 10, 2))))

	u.Host = "127.0.0.1:1"
	several, err := amqpsink.New([]string{u.String(), env.URL}, amqpsink.Config{})
	require.NoError(t, err)
	require.NoError(t, several.Check(within(t, patience)), "the second broker answers")
	require.NoError(t, several.Close())
	require.ErrorIs(t, several.Check(t.Context()), outbox.ErrClosed)
}

func TestCheckTopics_OfQueues(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	declareQueue(t, connect(t, env.URL), "q", nil)
	s := newSink(t, env.URL, amqpsink.Config{Queues: true})
	available, err := s.CheckTopics(within(t, patience), []string{"none", "q"})
	require.NoError(t, err)
	require.Equal(t, []string{"q"}, available)
}

// TestRoutingKey: a routing key of the user's own, one that is too long, and headers that no frame takes.
func TestRoutingKey(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	channel := connect(t, env.URL)
	require.NoError(t, channel.ExchangeDeclare("events", amqp.ExchangeTopic, true, false, false, false, nil))
	declareQueue(t, channel, "placed", nil)
	require.NoError(t, channel.QueueBind("placed", "*.Placed", "events", false, nil))
	s := newSink(t, env.URL, amqpsink.Config{
		Exchange: "events", ContentType: "text/plain", RoutingKey: func(r *outbox.Record) string { return r.Topic + "." + r.Type },
	})
	sent := records("orders", 5, 5)
	for i := range sent {
		sent[i].Type = "Placed"
	}
	sent[1].Type = strings.Repeat("T", 300)
	sent[2].Headers = map[string]string{strings.Repeat("n", 256): ""}
	sent[3].Headers = map[string]string{"content-type": "application/json"}
	sent[4].Type = strings.Repeat("T", 512)
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"ok": 2, "permanent": 3}, kinds(results))
	require.ErrorContains(t, results[1].Err, "routing key")
	require.ErrorContains(t, results[2].Err, "name of a header")
	for _, contentType := range []string{"text/plain", "application/json"} {
		d, ok, err := channel.Get("placed", true)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, contentType, d.ContentType)
		require.Equal(t, "Placed", d.Type)
		require.Equal(t, d.Headers[outbox.HeaderEventID], d.MessageId)
	}
}

func TestHeaders_LargerThanAFrame(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	declareQueue(t, connect(t, env.URL), "q", nil)
	u, err := url.Parse(env.URL)
	require.NoError(t, err)
	s := newSink(t, u.String(), amqpsink.Config{Queues: true})
	sent := records("q", 3, 3)
	sent[1].Headers = map[string]string{"h": strings.Repeat("v", 131_072)}
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"ok": 2, "permanent": 1}, kinds(results))
	require.ErrorContains(t, results[1].Err, "a frame of the connection has 131072")
	sent[1].Headers["h"] = sent[1].Headers["h"][:130_500]
	require.Equal(t, map[string]int{"ok": 3}, kinds(s.Send(within(t, patience), sent)))
}
