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
	require.ErrorIs(t, s.Check(t.Context()), natssink.ErrClosed)
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

// TestO3_RepeatsAreDropped: what is sent again within the stream's window is there once.
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
	_, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: nameOf("small"), Subjects: []string{"small"}, MaxMsgSize: 1000})
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
