package redissink_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/redissink"
)

// TestO8_OutageNamesTheServer: who reads why a topic is out learns that it is the server, and which.
func TestO8_OutageNamesTheServer(t *testing.T) {
	t.Parallel()
	addr := keeping(t)
	failed := func(server *redis.UniversalOptions) error {
		server.Username, server.Password = "stranger", "secret"
		return newSink(t, server, redissink.Config{}).Send(within(t, patience), records("t", 2, 2))[0].Err
	}
	away, stranger := failed(at("127.0.0.1:1")), failed(at(addr))
	require.ErrorContains(t, away, "leat: redis at [127.0.0.1:1] does not answer: ")
	require.ErrorContains(t, stranger, "leat: redis at ["+addr+"] refuses: ")
	require.NotContains(t, away.Error()+stranger.Error(), "secret")

	b := newStreams(t, addr, "out", redissink.Config{})
	s, err := b.Sink()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(*redissink.Sink).Close()) }()
	topic := b.Topics()[0]
	require.Equal(t, map[string]int{"ok": 2}, kinds(s.Send(within(t, patience), records(topic, 2, 2))))
	_, err = b.Mute(t.Context())
	require.NoError(t, err)
	require.ErrorContains(t, s.Send(within(t, time.Second), records(topic, 2, 2))[0].Err, "leat: redis at ["+addr+"] does not answer: ")
}
