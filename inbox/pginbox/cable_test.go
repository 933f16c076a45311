package pginbox_test

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync/atomic"
)

// cable is the connections between a test and the server. It can be cut at the
// moment at which a COMMIT is sent.
type cable struct {
	cut    atomic.Int32
	writes atomic.Int64 // that went through, each a round trip
}

const (
	cutNever  = iota
	cutBefore // the server never sees the COMMIT
	cutAfter  // the server has committed, and its answer is lost
)

// dial is a pgconn.DialFunc.
func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cableConn{Conn: conn, cable: c}, nil
}

type cableConn struct {
	net.Conn

	cable *cable
}

// Write looks for a simple query message that says COMMIT: pgx sends one alone.
// In a pipeline, it looks for the text of one that is parsed.
func (c *cableConn) Write(b []byte) (int, error) {
	c.cable.writes.Add(1)
	if !isCommit(b) {
		return c.Conn.Write(b)
	}
	switch c.cable.cut.Swap(cutNever) {
	case cutBefore:
		return len(b), c.Close()
	case cutAfter:
		n, err := c.Conn.Write(b)
		if err != nil {
			return n, err
		}
		return n, c.swallowAnswer()
	default:
		return c.Conn.Write(b)
	}
}

func isCommit(b []byte) bool {
	alone := len(b) > 5 && b[0] == 'Q' && strings.EqualFold(string(b[5:]), "commit\x00")
	return alone || bytes.Contains(b, []byte("\x00commit\x00"))
}

// swallowAnswer waits for the server's ReadyForQuery, so that the commit is
// done, and cuts.
func (c *cableConn) swallowAnswer() error {
	var answer []byte
	buf := make([]byte, 1024)
	for !bytes.HasSuffix(answer, []byte{'Z', 0, 0, 0, 5, 'I'}) {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		answer = append(answer, buf[:n]...)
	}
	return c.Close()
}
