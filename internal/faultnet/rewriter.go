package faultnet

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Rewriter stands before a PostgreSQL server and makes it look like a server that lacks a feature: it
// changes statements on their way. It is for clients that do not use TLS.
type Rewriter struct {
	// Server is host:port.
	Server string
	// Replace has texts of statements in pairs, as for [strings.NewReplacer].
	Replace []string
	// Keep leaves a session open on the server after its client has gone, until the test ends.
	Keep bool
	// Apart runs each statement of a batch in its own transaction.
	Apart bool
}

// Listen returns the rewriter's host and port. It ends with the test.
func (r Rewriter) Listen(tb testing.TB) (address string) {
	tb.Helper()
	return listen(tb, r.serve)
}

func (r Rewriter) serve(ctx context.Context, lines *Lines, client net.Conn) error {
	start, err := readFrame(client, 0)
	if err != nil {
		return err
	}
	server, err := lines.Dial(ctx, "tcp", r.Server)
	if err != nil {
		return err
	}
	if _, err = server.Write(start); err != nil {
		return err
	}
	var ours atomic.Int64 // Syncs, whose answers the client does not expect
	var answers sync.WaitGroup
	answers.Go(func() { r.answers(client, server, &ours) })
	err = r.statements(server, client, &ours)
	if !r.Keep {
		_ = server.Close()
	}
	answers.Wait()
	return err
}

// statements forwards what the client sends.
func (r Rewriter) statements(server io.Writer, client io.Reader, ours *atomic.Int64) error {
	replace := strings.NewReplacer(r.Replace...)
	for {
		frame, err := readFrame(client, 1)
		if err != nil {
			return err
		}
		switch frame[0] {
		case 'P':
			name, rest, _ := strings.Cut(string(frame[5:]), "\x00")
			sql, types, _ := strings.Cut(rest, "\x00")
			frame = newFrame('P', name+"\x00"+replace.Replace(sql)+"\x00"+types)
		case 'Q':
			frame = newFrame('Q', replace.Replace(string(frame[5:])))
		case 'E':
			if r.Apart {
				ours.Add(1)
				frame = append(frame, newFrame('S', "")...)
			}
		}
		if _, err := server.Write(frame); err != nil {
			return err
		}
	}
}

// answers forwards what the server sends, until it ends.
func (r Rewriter) answers(client io.WriteCloser, server io.Reader, ours *atomic.Int64) {
	defer func() { _ = client.Close() }()
	for {
		frame, err := readFrame(server, 1)
		if err != nil {
			return
		}
		if frame[0] == 'Z' && ours.Load() > 0 {
			ours.Add(-1)
			continue
		}
		_, _ = client.Write(frame) // a client that has gone does not end the session
	}
}

// newFrame returns a message of PostgreSQL's protocol.
func newFrame(kind byte, body string) []byte {
	frame := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(body)+4)) //nolint:gosec // far shorter
	return append(frame, body...)
}
