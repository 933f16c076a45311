package chaos

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
)

// commitMessage is what pgx sends for a COMMIT.
const commitMessage = "Q\x00\x00\x00\x0bcommit\x00"

// upstream is a server that reports what it reads, and answers every read.
func upstream(t *testing.T) (address string, read <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	got := make(chan string, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 1024)
			for {
				n, err := conn.Read(buf)
				if err != nil {
					break
				}
				got <- string(buf[:n])
				_, _ = conn.Write([]byte("answer"))
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return listener.Addr().String(), got
}

// dialed returns a wire and a connection through it.
func dialed(t *testing.T) (*wire, net.Conn, <-chan string) {
	t.Helper()
	address, got := upstream(t)
	w, err := openWire(t.Context(), address, faultnet.IsCommit)
	require.NoError(t, err)
	t.Cleanup(w.close)
	conn, err := net.Dial("tcp", w.address())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	t.Cleanup(func() { _ = conn.Close() })
	return w, conn, got
}

func exchange(t *testing.T, conn net.Conn, got <-chan string, text string) {
	t.Helper()
	_, err := conn.Write([]byte(text))
	require.NoError(t, err)
	require.Equal(t, text, <-got)
	buf := make([]byte, 6)
	_, err = io.ReadFull(conn, buf)
	require.NoError(t, err)
	require.Equal(t, "answer", string(buf))
}

func TestWire_CutsAfterTheCommitWasSent(t *testing.T) {
	t.Parallel()
	w, conn, got := dialed(t)
	exchange(t, conn, got, "SELECT 'a row that says commit'")
	fired := w.cutAtCommit(faultnet.CutAfter)
	_, err := conn.Write([]byte(commitMessage))
	require.NoError(t, err)
	require.Equal(t, commitMessage, <-got, "the server has got it")
	<-fired
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "closed")
}

func TestWire_CutsBeforeTheCommitIsSeen(t *testing.T) {
	t.Parallel()
	w, conn, got := dialed(t)
	exchange(t, conn, got, commitMessage) // not asked for
	fired := w.cutAtCommit(faultnet.CutBefore)
	_, err := conn.Write([]byte(commitMessage))
	require.NoError(t, err)
	<-fired
	rest, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Empty(t, rest, "no answer")
	require.Empty(t, got)
}

func TestWire_CutsAllAndHoldsAll(t *testing.T) {
	t.Parallel()
	w, conn, got := dialed(t)
	began := time.Now()
	w.hold(200 * time.Millisecond)
	exchange(t, conn, got, "late")
	require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	require.Equal(t, 1, w.cut())
	_, err := io.ReadAll(conn)
	require.NoError(t, err)
}
