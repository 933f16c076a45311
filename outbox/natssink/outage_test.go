package natssink_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/natssink"
)

// TestO8_OutageNamesTheServers: who reads why a topic is out learns that it is the servers, and which.
func TestO8_OutageNamesTheServers(t *testing.T) {
	t.Parallel()
	address := startServer(t).HostPort
	failed := func(url string) error {
		return newSink(t, url, natssink.Config{}).Send(within(t), records("k.a", 2, 2))[0].Err
	}
	away, stranger := failed("nats://ann:secret@127.0.0.1:1/,127.0.0.1:2"), failed("nats://stranger:secret@"+address)
	require.ErrorContains(t, away, "leat: nats at [127.0.0.1:1 127.0.0.1:2] does not answer: ")
	require.ErrorContains(t, stranger, "leat: nats at ["+address+"] refuses: ")
	require.NotContains(t, away.Error()+stranger.Error(), "secret")

	b := newStreams(t, address, "k")
	s, err := b.Sink()
	require.NoError(t, err)
	defer func() { require.NoError(t, s.(*natssink.Sink).Close()) }()
	require.Equal(t, map[string]int{"ok": 2}, kinds(s.Send(within(t), records("k.a", 2, 2))))
	_, err = b.Mute(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorContains(t, s.Send(ctx, records("k.a", 2, 2))[0].Err, "leat: nats at ["+address+"] does not answer: ")
}
