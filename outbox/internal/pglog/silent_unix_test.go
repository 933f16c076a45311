//go:build unix

package pglog

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSilent_WhileSomebodyReads: after a slow write, pgx leaves a goroutine behind that reads until something
// comes. A look at the connection must not wait for it: the relay would stand still for as long as its idle
// server says nothing.
func TestSilent_WhileSomebodyReads(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, listener.Close()) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	server, err := listener.Accept()
	require.NoError(t, err)
	read := make(chan error, 1)
	go func() {
		_, err := conn.Read(make([]byte, 1))
		read <- err
	}()
	looked := make(chan bool, 1)
	for range 100 { // some while it reads
		go func() { looked <- silent(conn) }()
		select {
		case nothing := <-looked:
			require.True(t, nothing)
		case <-time.After(10 * time.Second):
			require.Fail(t, "it waits for the one that reads")
		}
	}
	require.NoError(t, server.Close())
	require.Error(t, <-read)
	require.False(t, silent(conn))
	require.NoError(t, conn.Close())
}
