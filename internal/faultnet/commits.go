package faultnet

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"strings"
	"sync/atomic"
)

// Commits are connections to PostgreSQL that can be cut at the moment at which a COMMIT
// is sent. The zero value is ready for use, by any number of goroutines.
type Commits struct {
	next   atomic.Int32
	cuts   atomic.Int64
	writes atomic.Int64
}

// Cut is where a connection is cut.
type Cut int32

// Values of Cut.
const (
	CutNever  Cut = iota
	CutBefore     // the server never sees the COMMIT
	CutAfter      // the server has committed, and its answer is lost
)

// Arm arms a cut of the next COMMIT.
func (c *Commits) Arm(cut Cut) { c.next.Store(int32(cut)) }

// Cuts returns how many connections have been cut.
func (c *Commits) Cuts() int64 { return c.cuts.Load() }

// Writes returns how many writes there were, each a round trip.
func (c *Commits) Writes() int64 { return c.writes.Load() }

// Dial is a pgconn.DialFunc.
func (c *Commits) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &commitConn{Conn: conn, all: c}, nil
}

type commitConn struct {
	net.Conn

	all *Commits
}

// Write implements net.Conn.
func (c *commitConn) Write(b []byte) (int, error) {
	c.all.writes.Add(1)
	if !IsCommit(b) {
		return c.Conn.Write(b)
	}
	switch Cut(c.all.next.Swap(int32(CutNever))) {
	case CutBefore:
		c.all.cuts.Add(1)
		return len(b), c.Close()
	case CutAfter:
		n, err := c.Conn.Write(b)
		if err != nil {
			return n, err
		}
		return n, c.swallowAnswer()
	default:
		return c.Conn.Write(b)
	}
}

// IsCommit reports whether the bytes that a client has written run a COMMIT. pgx sends one alone, as
// a simple query, or in a pipeline, where its text is parsed for this once, or bound by the name
// under which it was prepared before.
func IsCommit(b []byte) bool {
	alone := len(b) > 5 && b[0] == 'Q' && strings.EqualFold(string(b[5:]), "commit\x00")
	text, name := []byte("\x00commit\x00"), preparedCommit()
	parsed := bytes.Contains(b, text) && !bytes.Contains(b, append([]byte(name), text...)) // else only prepared, to run later
	return alone || parsed || bytes.Contains(b, []byte("\x00"+name+"\x00"))
}

// preparedCommit is pgx's name for the statement that its cache has for COMMIT.
func preparedCommit() string {
	digest := sha256.Sum256([]byte("commit"))
	return "stmtcache_" + hex.EncodeToString(digest[:24])
}

// IsMySQLCommit is IsCommit for a packet of MySQL's protocol: a query after four bytes of
// length and number.
func IsMySQLCommit(b []byte) bool {
	const head, query = 4, 3
	return len(b) > head && b[head] == query && strings.EqualFold(string(b[head+1:]), "commit")
}

// swallowAnswer waits for the server's ReadyForQuery, so that the commit is done, and then cuts the
// connection.
func (c *commitConn) swallowAnswer() error {
	var answer []byte
	buf := make([]byte, 1024)
	for !bytes.HasSuffix(answer, []byte{'Z', 0, 0, 0, 5, 'I'}) {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		answer = append(answer, buf[:n]...)
	}
	c.all.cuts.Add(1)
	return c.Close()
}
