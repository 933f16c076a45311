package faultnet

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// MySQLRewriter is [Rewriter] before a MySQL or MariaDB server. It is for the same clients as
// [MySQLSplitter].
type MySQLRewriter struct {
	// Server is host:port.
	Server string
	// Replace has texts of statements in pairs, as for [strings.NewReplacer].
	Replace []string
	// Late is a text: a statement that has it is handed on up to a fifth of a second later, each after a time of its own.
	Late string
	// Keep leaves a session open on the server after its client has gone, until the test ends.
	Keep bool
}

// Listen returns the rewriter's host and port. It ends with the test.
func (r MySQLRewriter) Listen(tb testing.TB) (address string) {
	tb.Helper()
	return listen(tb, r.serve)
}

func (r MySQLRewriter) serve(ctx context.Context, lines *Lines, client net.Conn) error {
	server, err := lines.Dial(ctx, "tcp", r.Server)
	if err != nil {
		return err
	}
	if err := introduce(server, client); err != nil {
		_ = server.Close()
		return err
	}
	var answers sync.WaitGroup
	answers.Go(func() {
		_, _ = io.Copy(client, server)
		_ = client.Close()
		_, _ = io.Copy(io.Discard, server) // a client that has gone does not end the session
	})
	err = r.statements(ctx, server, client)
	if !r.Keep {
		_ = server.Close()
	}
	answers.Wait()
	return err
}

// introduce forwards the handshake of a client and a server.
func introduce(server, client net.Conn) error {
	greeting, err := readPacket(server)
	if err == nil {
		_, err = client.Write(greeting)
	}
	if err != nil {
		return err
	}
	hello, err := readPacket(client)
	if err == nil {
		_, err = server.Write(hello)
	}
	if err != nil {
		return err
	}
	return logIn(server, client)
}

// statements passes on what the client sends. What is too large for one packet stays as it is.
func (r MySQLRewriter) statements(ctx context.Context, server io.Writer, client io.Reader) error {
	replace := strings.NewReplacer(r.Replace...)
	for {
		packet, err := readPacket(client)
		if err != nil {
			return err
		}
		if len(packet) > 5 && len(packet) < 1<<20 && packet[4] == commandQuery {
			sql := replace.Replace(string(packet[5:]))
			n := len(sql) + 1
			if r.Late != "" && strings.Contains(sql, r.Late) {
				select {
				case <-time.After(rand.N(200 * time.Millisecond)): //nolint:gosec // any will do
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			packet = append([]byte{byte(n), byte(n >> 8), byte(n >> 16), packet[3], commandQuery}, sql...) //nolint:gosec // three bytes of a length below 1<<24
		}
		if _, err := server.Write(packet); err != nil {
			return err
		}
	}
}
