package faultnet

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Splitter is a read/write splitter before a PostgreSQL primary and its standby. A statement outside of a
// transaction that only reads goes to the standby if Away allows it. It is for clients that use neither
// named prepared statements (default_query_exec_mode=cache_describe) nor TLS.
type Splitter struct {
	// Primary and Standby are host:port.
	Primary, Standby string
	// Away reports whether a statement that only reads goes to the standby. It is called from several
	// goroutines.
	Away func(sql string) bool
}

// ByFunctions is a [Splitter.Away] that decides as pgpool-II does: statements that call a volatile
// function stay on the primary.
func ByFunctions(sql string) bool { return !volatile.MatchString(sql) }

// ByText is a [Splitter.Away] that sends every SELECT to the standby.
func ByText(string) bool { return true }

var (
	selects  = regexp.MustCompile(`(?is)^\s*(--[^\n]*\n\s*)*(select|with)\b`)
	writes   = regexp.MustCompile(`(?is)\b(insert|update|delete|for share|for key share)\b`)
	volatile = regexp.MustCompile(`(?i)\b(pg_sequence_last_value|pg_is_in_recovery|pg_control_system|set_config|pg_\w*advisory\w*|nextval|setval|clock_timestamp|pg_notify|random)\b`)
)

// Listen returns the splitter's host and port. It ends with the test.
func (s Splitter) Listen(tb testing.TB) (address string) {
	tb.Helper()
	return listen(tb, s.serve)
}

// listen keeps the splitter open while the test runs.
func listen(tb testing.TB, serve serve) (address string) {
	tb.Helper()
	address, closeAll, err := open(tb.Context(), serve)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(closeAll)
	return address
}

// Open returns the splitter's host and port, and a function that ends it and all its sessions.
func (s Splitter) Open(ctx context.Context) (address string, closeAll func(), err error) {
	return open(ctx, s.serve)
}

// serve serves a client over connections to the servers.
type serve func(ctx context.Context, lines *Lines, client net.Conn) error

// open serves each client until closeAll is called, which cuts the connections to the servers.
func open(ctx context.Context, serve serve) (address string, closeAll func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	var running sync.WaitGroup
	var lines Lines // to the servers: a session ends with them
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = client.Close() }()
				_ = serve(ctx, &lines, client) // the client sees that its connection has ended
			})
		}
	})
	return l.Addr().String(), func() {
		_ = l.Close()
		lines.Cut()
		running.Wait()
	}, nil
}

func (s Splitter) serve(ctx context.Context, lines *Lines, client net.Conn) error {
	start, err := readFrame(client, 0)
	if err != nil {
		return err
	}
	primary, err := lines.Dial(ctx, "tcp", s.Primary)
	if err != nil {
		return err
	}
	defer func() { _ = primary.Close() }()
	if _, err = primary.Write(start); err != nil || len(start) == 16 { // a cancel request has no answer
		return err
	}
	standby, err := lines.Dial(ctx, "tcp", s.Standby)
	if err != nil {
		return err
	}
	defer func() { _ = standby.Close() }()
	if _, err = standby.Write(start); err != nil {
		return err
	}
	if _, err = answer(io.Discard, standby); err != nil {
		return err
	}
	state, err := answer(client, primary)
	for err == nil {
		var batch []byte
		var away bool
		if batch, away, err = s.batch(client); err != nil {
			return err
		}
		if away && state == 'I' {
			if _, err = standby.Write(batch); err == nil {
				_, err = answer(client, standby)
			}
			continue
		}
		if _, err = primary.Write(batch); err == nil {
			state, err = answer(client, primary)
		}
	}
	return err
}

// batch reads from the client until the client waits for an answer, and reports whether the whole
// batch may go to the standby.
func (s Splitter) batch(client io.Reader) (batch []byte, away bool, err error) {
	away = true
	for {
		frame, err := readFrame(client, 1)
		if err != nil {
			return nil, false, err
		}
		batch = append(batch, frame...)
		body := string(frame[5:])
		switch frame[0] {
		case 'P':
			name, rest, _ := strings.Cut(body, "\x00")
			if name != "" {
				return nil, false, fmt.Errorf("faultnet: prepared statement %q has a name", name)
			}
			sql, _, _ := strings.Cut(rest, "\x00")
			away = away && s.away(sql)
		case 'Q':
			return batch, s.away(strings.TrimSuffix(body, "\x00")), nil
		case 'S':
			return batch, away, nil
		case 'X':
			return nil, false, io.EOF
		}
	}
}

func (s Splitter) away(sql string) bool {
	return selects.MatchString(sql) && !writes.MatchString(sql) && s.Away(sql)
}

// answer copies what a server sends until it is ready, and returns the state of its transaction.
func answer(client io.Writer, server io.Reader) (state byte, err error) {
	for {
		frame, err := readFrame(server, 1)
		if err != nil {
			return 0, err
		}
		if _, err := client.Write(frame); err != nil {
			return 0, err
		}
		if frame[0] == 'Z' {
			return frame[5], nil
		}
	}
}

// readFrame reads a message of PostgreSQL's protocol, whose length follows the given number of bytes
// of its kind.
func readFrame(from io.Reader, kind int) ([]byte, error) {
	frame := make([]byte, kind+4)
	if _, err := io.ReadFull(from, frame); err != nil {
		return nil, err
	}
	rest := int(binary.BigEndian.Uint32(frame[kind:])) - 4
	if rest < 0 || rest > 1<<28 {
		return nil, fmt.Errorf("faultnet: a message of %d bytes", rest)
	}
	frame = slices.Grow(frame, rest)[:kind+4+rest]
	_, err := io.ReadFull(from, frame[kind+4:])
	return frame, err
}
