package httpsink_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
)

// endless are answers that have no end, by what they have: a piece that comes once, and one that comes for ever.
func endless() map[string]struct{ first, then string } {
	return map[string]struct{ first, then string }{
		"101":          {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", ""},
		"101, talking": {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "x"},
		"1xx":          {"", "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"},
		"header":       {"HTTP/1.1 500 x\r\n", "x"},
		"headers":      {"HTTP/1.1 500 x\r\n", "X-A: " + strings.Repeat("a", 1000) + "\r\n"},
		"body":         {"HTTP/1.1 500 x\r\nContent-Length: 99999999999\r\n\r\n", "x"},
		"silent body":  {"HTTP/1.1 500 x\r\nContent-Length: 9\r\n\r\n", ""},
		"chunks":       {"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"},
		"one chunk":    {"HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n1;", "a"},
	}
}

// TestO7_AnswersWithoutAnEnd: Send returns, and other endpoints get their records, whatever an endpoint
// answers for however long, a byte at a time or at once.
func TestO7_AnswersWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, answer := range endless() {
		for _, pace := range []string{"drips", "flows"} {
			t.Run(name+" "+pace, func(t *testing.T) {
				t.Parallel()
				server, err := faultnet.Serve(func(ctx context.Context, conn net.Conn) {
					if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
						return
					}
					_, err := io.WriteString(conn, answer.first)
					switch {
					case answer.then == "":
						<-ctx.Done()
					case pace == "drips":
						faultnet.Drip(ctx, conn, answer.then)
					}
					for err == nil && answer.then != "" {
						_, err = io.WriteString(conn, answer.then)
					}
				})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, server.Close()) })
				good := receive(t, nil)
				s := open(t, httpsink.Static{"bad": at("http://" + server.Address()), "good": at(good.URL)},
					httpsink.Config{Timeout: 300 * time.Millisecond})
				records := []outbox.Record{record(1, "a"), record(2, "a"), record(3, "a")}
				records[0].Topic, records[1].Topic, records[2].Topic = "bad", "bad", "good"
				done := make(chan []outbox.Result, 1)
				go func() { done <- s.Send(t.Context(), records) }()
				select {
				case results := <-done:
					require.Equal(t, []string{"outage", "not_sent", "ok"}, kinds(results), fmt.Sprint(results[0].Err))
				case <-time.After(5 * time.Second):
					require.Fail(t, "Send has not returned")
				}
			})
		}
	}
}
