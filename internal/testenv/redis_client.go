package testenv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// errRedisReply is returned for errors of the server and for what it must not say.
var errRedisReply = errors.New("testenv: reply of Redis")

// redisConn speaks as much of Redis's protocol as this package needs. The demo links
// this package, and so no client library.
type redisConn struct {
	conn net.Conn
	in   *bufio.Reader
}

// dialRedis connects to the server at address. What is asked of it must be answered
// before ctx ends, or in connectTimeout.
func dialRedis(ctx context.Context, address string) (*redisConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("testenv: Redis at %s: %w", address, err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(connectTimeout)
	}
	_ = conn.SetDeadline(deadline)

	return &redisConn{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *redisConn) close() { _ = c.conn.Close() }

// do sends a command and returns the strings of its reply, those of arrays one after
// the other.
func (c *redisConn) do(args ...string) ([]string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(c.conn, b.String()); err != nil {
		return nil, fmt.Errorf("testenv: Redis %s: %w", args[0], err)
	}
	reply, err := c.reply()
	if err != nil {
		return nil, fmt.Errorf("testenv: Redis %s: %w", args[0], err)
	}

	return reply, nil
}

func (c *redisConn) reply() ([]string, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, fmt.Errorf("%w: an empty line", errRedisReply)
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+', ':':
		return []string{rest}, nil
	case '$', '*':
	default: // an error, or a protocol that is not ours
		return nil, fmt.Errorf("%w: %.100q", errRedisReply, line)
	}
	n, err := strconv.Atoi(rest)
	if err != nil || n < 0 {
		return nil, err // nil has no strings
	}
	if kind == '$' {
		body := make([]byte, n+len("\r\n"))
		_, err := io.ReadFull(c.in, body)

		return []string{string(body[:n])}, err
	}
	var all []string
	for range n {
		part, err := c.reply()
		if err != nil {
			return nil, err
		}
		all = append(all, part...)
	}

	return all, nil
}
