package amqpsink_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// TestO7_HeadersThatRoute: RabbitMQ takes a list for CC and BCC, and closes the channel if it is a text.
func TestO7_HeadersThatRoute(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	declareQueue(t, connect(t, url), "q", nil)
	s := newSink(t, url, amqpsink.Config{Queues: true})
	sent := records("q", 6, 6)
	for i, name := range []string{"CC", "BCC", "cc", "Cc", "bcc"} {
		sent[i].Headers = map[string]string{name: "x"}
	}
	results := s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"ok": 4, "permanent": 2}, kinds(results))
	require.ErrorContains(t, results[1].Err, `"BCC" of "id-2"`)
	require.Equal(t, outbox.FailurePermanent, outbox.KindOf(results[0].Err))
}

// TestO7_UnknownCulprit: the broker closes the channel and does not say for which exchange, since its text is cut
// off. The next call finds the record; all others arrive.
func TestO7_UnknownCulprit(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	long := strings.Repeat("x", 250)
	declareTopics(t, connect(t, env.URL), "there", long)
	s := newSink(t, env.User(t, `{"configure":"","write":"^there$","read":""}`), amqpsink.Config{})
	sent := records("there", 40, 40)
	sent[17].Topic = long
	results := s.Send(within(t, patience), sent)
	if first := kinds(results); first["unknown"] > 0 { // the broker was quick: no other was under way
		require.Equal(t, outbox.FailureUnknown, outbox.KindOf(results[17].Err))
		require.Equal(t, 1, first["unknown"])
		require.LessOrEqual(t, first["outage"], 1, "the next one, which met the closed channel")
	}
	results = s.Send(within(t, patience), sent)
	require.Equal(t, map[string]int{"ok": 17, "unknown": 1, "not_sent": 22}, kinds(results))
	require.Equal(t, outbox.FailureUnknown, outbox.KindOf(results[17].Err))
	require.ErrorContains(t, results[17].Err, "ACCESS_REFUSED")
	require.Equal(t, map[string]int{"ok": 22}, kinds(s.Send(within(t, patience), sent[18:])))
}

// TestO7_ForbiddenRoutingKey: a routing key that the user may not write with does not put out the exchange. The
// right helps when it is granted, after a while.
func TestO7_ForbiddenRoutingKey(t *testing.T) {
	t.Parallel()
	env := testenv.Rabbit(t)
	channel := connect(t, env.URL)
	require.NoError(t, channel.ExchangeDeclare("events", amqp.ExchangeTopic, true, false, false, false, nil))
	declareQueue(t, channel, "all", nil)
	require.NoError(t, channel.QueueBind("all", "#", "events", false, nil))
	user := env.User(t, `{"configure":"","write":".*","read":""}`)
	env.Topics(t, "events", "^open$")
	s := newSink(t, user, amqpsink.Config{Exchange: "events"})
	sent := mixed("open", "forbidden")
	require.Zero(t, kinds(s.Send(within(t, patience), sent))["unknown"])
	requireUnavailable(t, sent, s.Send(within(t, patience), sent), "forbidden", `exchange "events" with routing key "forbidden"`)

	env.Topics(t, "events", ".*")
	s.Age(amqpsink.LearnedFor)
	require.Equal(t, map[string]int{"ok": 40}, kinds(s.Send(within(t, patience), sent)))
}

// tap is a network connection that counts what is written, and loses what has lost in it.
type tap struct {
	net.Conn

	writes *atomic.Int64
	lost   string
}

func (c tap) Write(p []byte) (int, error) {
	c.writes.Add(1)
	if c.lost != "" && bytes.Contains(p, []byte(c.lost)) {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// tapped returns a Dial of taps.
func tapped(writes *atomic.Int64, lost string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return tap{Conn: conn, writes: writes, lost: lost}, err
	}
}

// TestMissingExchange_IsAskedForOnce: a page of records of an exchange that is not there is one question.
func TestMissingExchange_IsAskedForOnce(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	s := newSink(t, testenv.Rabbit(t).URL, amqpsink.Config{Dial: tapped(&writes, "")})
	require.Equal(t, map[string]int{"outage": 500}, kinds(s.Send(within(t, patience), records("missing", 500, 500))))
	require.Less(t, writes.Load(), int64(30))
}

// TestCheckTopics_TellsWhatItKnows: the broker answers for one topic, and then no more.
func TestCheckTopics_TellsWhatItKnows(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	declareTopics(t, connect(t, url), "there", "lost")
	var writes atomic.Int64
	s := newSink(t, url, amqpsink.Config{Dial: tapped(&writes, "lost")})
	available, err := s.CheckTopics(within(t, 3*time.Second), []string{"there", "lost"})
	require.NoError(t, err)
	require.Equal(t, []string{"there"}, available)
	available, err = s.CheckTopics(within(t, time.Second), []string{"lost", "there"})
	require.Error(t, err)
	require.Empty(t, available)
}

// TestCheckTopics_OfExclusiveQueues: a queue of another connection's own takes messages.
func TestCheckTopics_OfExclusiveQueues(t *testing.T) {
	t.Parallel()
	url := testenv.Rabbit(t).URL
	_, err := connect(t, url).QueueDeclare("q", false, false, true, false, nil)
	require.NoError(t, err)
	s := newSink(t, url, amqpsink.Config{Queues: true})
	available, err := s.CheckTopics(within(t, patience), []string{"q"})
	require.NoError(t, err)
	require.Equal(t, []string{"q"}, available)
	require.Equal(t, map[string]int{"ok": 3}, kinds(s.Send(within(t, patience), records("q", 3, 3))))
}
