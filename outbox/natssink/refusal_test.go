package natssink_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/natssink"
)

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url string
		cfg natssink.Config
	}{
		"url":        {"", natssink.Config{}},
		"MaxUnacked": {"nats://127.0.0.1:1", natssink.Config{MaxUnacked: 10_001}},
		"-1":         {"nats://127.0.0.1:1", natssink.Config{MaxUnacked: -1}},
	} {
		_, err := natssink.New(test.url, test.cfg)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
		require.ErrorContains(t, err, name)
	}
	s := newSink(t, "nats://127.0.0.1:1", natssink.Config{})
	require.Error(t, s.Check(within(t)))
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Check(t.Context()), outbox.ErrClosed)
}

// TestTopics: what is wrong with one topic is an outage of that topic, and the others go on.
func TestTopics(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	b := newStreams(t, server.HostPort, "k") // its user reader may not write to k.b
	_, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "full", Subjects: []string{"full"}, MaxMsgs: 2, Discard: jetstream.DiscardNew,
	})
	require.NoError(t, err)
	for _, test := range []struct {
		user, topic string
		taken       int
	}{
		{"writer", "k.missing", 0},
		{"writer", "full", 2},
		{"reader", "k.b", 0},
	} {
		s := newSink(t, urlOf(server.HostPort, test.user), natssink.Config{})
		all := append(records(test.topic, 6, 2), records("k.a", 4, 2)...)
		results := s.Send(within(t), all)
		require.Equal(t, test.taken+4, kinds(results)["ok"], test)
		require.Equal(t, 0, kinds(results)["permanent"]+kinds(results)["unknown"], test)
		require.Positive(t, kinds(results)["outage"], test)
		for i := range all {
			if r := results[i]; r.Err != nil && outbox.KindOf(r.Err) == outbox.FailureOutage {
				require.ErrorIs(t, r.Err, outbox.ErrTopicUnavailable, test)
				require.Equal(t, test.topic, all[i].Topic)
			}
		}
		require.NoError(t, s.Check(within(t)), "the server itself answers")
	}
	s := newSink(t, urlOf(server.HostPort, "writer"), natssink.Config{})
	available, err := s.CheckTopics(within(t), []string{"k.a", "k.missing", "full"})
	require.NoError(t, err)
	require.Equal(t, []string{"k.a", "full"}, available)
}

// TestPermanent: what can never be sent is refused for good, with the reason, and alone.
func TestPermanent(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	js := connect(t, server.HostPort)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "small", Subjects: []string{"small"}, MaxMsgSize: 1000})
	require.NoError(t, err)
	s := newSink(t, urlOf(server.HostPort, "writer"), natssink.Config{})
	for reason, change := range map[string]func(r *outbox.Record){
		"maximum payload":   func(r *outbox.Record) { r.Payload = make([]byte, maxPayload+1) },
		"message size":      func(r *outbox.Record) { r.Payload = make([]byte, 2000) },
		`"odd name"`:        func(r *outbox.Record) { r.Headers = map[string]string{"odd name": "x"} },
		`"a\nb"`:            func(r *outbox.Record) { r.Headers = map[string]string{"name": "a\nb"} },
		`" blank"`:          func(r *outbox.Record) { r.Key = " blank" },
		"without blanks":    func(r *outbox.Record) { r.Topic = "small orders" },
		"must be the name":  func(r *outbox.Record) { r.Topic = "small.>" },
		"parts that are no": func(r *outbox.Record) { r.Topic = "small..orders" },
		"own subjects, wh":  func(r *outbox.Record) { r.Topic = "$JS.API.STREAM.DELETE.small" },
		"own subjects":      func(r *outbox.Record) { r.Topic = "_INBOX.x" },
		"_R_":               func(r *outbox.Record) { r.Topic = "_R_.x" },
		`"Nats-Rollup"`:     func(r *outbox.Record) { r.Headers = map[string]string{"Nats-Rollup": "all"} },
		`"nats-ttl"`:        func(r *outbox.Record) { r.Headers = map[string]string{"nats-ttl": "1s"} },
		`"Nats-Expected-S`:  func(r *outbox.Record) { r.Headers = map[string]string{"Nats-Expected-Stream": "small"} },
		`"Status"`:          func(r *outbox.Record) { r.Headers, r.Payload = map[string]string{"Status": "503"}, nil },
	} {
		all := records("small", 3, 3)
		for i := range all {
			all[i].ID = reason + all[i].ID
			all[i].ID = strings.ReplaceAll(all[i].ID, "\n", "")
		}
		change(&all[1])
		results := s.Send(within(t), all)
		require.Equal(t, map[string]int{"ok": 2, "permanent": 1}, kinds(results), reason)
		require.ErrorContains(t, results[1].Err, reason)
	}
}

// TestS4_RightsThatAreEnough: a relay needs no more, and what it may not write to is an outage of that subject.
func TestS4_RightsThatAreEnough(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	js := connect(t, server.HostPort)
	for _, name := range []string{"orders", "bank"} {
		_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}})
		require.NoError(t, err)
	}
	s := newSink(t, urlOf(server.HostPort, "relay"), natssink.Config{})
	require.NoError(t, s.Check(within(t)))
	available, err := s.CheckTopics(within(t), []string{"orders.a", "missing"})
	require.NoError(t, err)
	require.Equal(t, []string{"orders.a"}, available)
	results := s.Send(within(t), append(records("bank.a", 2, 1), records("orders.a", 3, 3)...))
	require.Equal(t, map[string]int{"ok": 3, "outage": 1, "not_sent": 1}, kinds(results))
	require.ErrorIs(t, results[0].Err, outbox.ErrTopicUnavailable)
}

// TestS4_TopicsAndHeadersCommandNothing: a stream is there with all that it had, whatever a producer writes into the
// outbox; and what only looks like a command is sent.
func TestS4_TopicsAndHeadersCommandNothing(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	js := connect(t, server.HostPort)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: "victim", Subjects: []string{"victim.>"}, AllowRollup: true, AllowMsgTTL: true,
	})
	require.NoError(t, err)
	s := newSink(t, urlOf(server.HostPort, "writer"), natssink.Config{})
	require.Equal(t, map[string]int{"ok": 5}, kinds(s.Send(within(t), records("victim.a", 5, 5))))
	evil := records("victim.b", 12, 12)
	for i, topic := range []string{"$JS.API.STREAM.PURGE.victim", "$JS.API.STREAM.DELETE.victim", "$SYS.REQ.SERVER.PING", "$KV.b.k", "_INBOX.x"} {
		evil[i].Topic, evil[i].Payload = topic, nil
	}
	for i, header := range []string{"Nats-Rollup", "Nats-TTL", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id", "Nats-Schedule", "Nats-Incr", "nats-rollup"} {
		evil[5+i].Headers = map[string]string{header: "1"}
	}
	require.Equal(t, map[string]int{"permanent": 12}, kinds(s.Send(within(t), evil)))
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, info.State.Msgs)

	good := records("victim.$JS._INBOX", 3, 3)
	good[0].Headers = map[string]string{"Nats-Msg-Id": "of the message that was consumed"}
	good[1].Headers, good[1].Payload = map[string]string{"Status": "paid"}, []byte("{}")
	good[2].Headers, good[2].Payload = map[string]string{"status": "paid", "NatsX": "1"}, nil
	require.Equal(t, map[string]int{"ok": 3}, kinds(s.Send(within(t), good)))
}

// TestO3_RepeatsAreDropped: what is sent again within the stream's window is there once, whichever relay sends it.
func TestO3_RepeatsAreDropped(t *testing.T) {
	t.Parallel()
	b := newStreams(t, startServer(t).HostPort, "r")
	all := records("r.a", 20, 3)
	for range 3 {
		s := newSink(t, urlOf(b.address, "writer"), natssink.Config{MaxUnacked: 2})
		require.Equal(t, map[string]int{"ok": 20}, kinds(s.Send(within(t), all)))
	}
	arrived, err := b.Arrived(t.Context(), "r.a")
	require.NoError(t, err)
	require.Len(t, arrived, len(all))
}

// TestO8_ServerIsAway: all of it is an outage, soon, and goes through once a server is there.
func TestO8_ServerIsAway(t *testing.T) {
	t.Parallel()
	s := newSink(t, "nats://127.0.0.1:1", natssink.Config{})
	began := time.Now()
	results := s.Send(within(t), records("t", 3, 3))
	require.Equal(t, map[string]int{"outage": 1, "not_sent": 2}, kinds(results))
	require.Less(t, time.Since(began), patience)
	_, err := s.CheckTopics(within(t), []string{"t"})
	require.Error(t, err)
}

// TestO5_RefusedInTheMiddle: behind a record that the stream refuses nothing of its key is sent, and all
// of the others.
func TestO5_RefusedInTheMiddle(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	b := &streams{address: server.HostPort, js: connect(t, server.HostPort)}
	_, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "small", Subjects: []string{"small"}, MaxMsgSize: 1000})
	require.NoError(t, err)
	all := records("small", 9, 3)
	all[3].Payload = make([]byte, 2000) // the second of key-0
	s := newSink(t, urlOf(server.HostPort, "writer"), natssink.Config{})
	require.Equal(t, map[string]int{"ok": 7, "permanent": 1, "not_sent": 1}, kinds(s.Send(within(t), all)))
	arrived, err := b.Arrived(t.Context(), "small")
	require.NoError(t, err)
	require.Len(t, arrived, 7)
	for i := range arrived {
		require.NotEqual(t, all[6].ID, arrived[i].ID)
	}
}
