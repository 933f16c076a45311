package faultnet_test

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
)

// line dials a server through v, and returns both ends.
func line(t *testing.T, v *faultnet.Valve) (client, server net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	client, err = v.Dial(t.Context(), "tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	server, err = listener.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return client, server
}

func pass(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	_, err := io.WriteString(from, text)
	require.NoError(t, err)
	got := make([]byte, len(text))
	_, err = io.ReadFull(to, got)
	require.NoError(t, err)
	require.Equal(t, text, string(got))
}

func TestValve_MutesWhatThereIs(t *testing.T) {
	t.Parallel()
	var v faultnet.Valve
	client, server := line(t, &v)
	pass(t, client, server, "hello")
	pass(t, server, client, "hello")
	release := v.Mute()
	pass(t, client, server, "question")
	_, err := io.WriteString(server, "answer")
	require.NoError(t, err)
	heard := make(chan string, 1)
	go func() {
		b := make([]byte, 6)
		_, _ = io.ReadFull(client, b)
		heard <- string(b)
	}()
	later, other := line(t, &v)
	pass(t, other, later, "not concerned")
	require.Empty(t, heard)
	release()
	release()
	require.Equal(t, "answer", <-heard)

	v.Mute()
	reading := make(chan error, 1)
	go func() {
		_, err := client.Read(make([]byte, 1))
		reading <- err
	}()
	require.NoError(t, client.Close())
	require.Error(t, <-reading)
}

func TestValve_StallsWhatThereIs(t *testing.T) {
	t.Parallel()
	var v faultnet.Valve
	client, server := line(t, &v)
	gone, goneServer := line(t, &v)
	release := v.Stall()
	for _, c := range []net.Conn{client, gone} {
		_, err := io.WriteString(c, "late")
		require.NoError(t, err)
	}
	pass(t, server, client, "not concerned")
	later, laterServer := line(t, &v)
	pass(t, later, laterServer, "not concerned")
	require.NoError(t, gone.Close())
	release()
	pass(t, client, server, "")
	got := make([]byte, 4)
	_, err := io.ReadFull(server, got)
	require.NoError(t, err)
	require.Equal(t, "late", string(got))
	rest, _ := io.ReadAll(goneServer)
	require.Empty(t, rest, "what was closed is dropped")
	pass(t, client, server, "on")
}

// TestValve_MutedReadHasADeadline: as that of a server which says nothing.
func TestValve_MutedReadHasADeadline(t *testing.T) {
	t.Parallel()
	var v faultnet.Valve
	client, server := line(t, &v)
	v.Mute()
	_, err := io.WriteString(server, "answer")
	require.NoError(t, err)
	reading := make(chan error, 1)
	go func() {
		_, err := client.Read(make([]byte, 1))
		reading <- err
	}()
	require.NoError(t, client.SetDeadline(time.Time{}))
	require.NoError(t, client.SetReadDeadline(time.Now()))
	require.ErrorIs(t, <-reading, os.ErrDeadlineExceeded)
}
