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

// MySQLSplitter is a read/write splitter before two servers that speak MySQL's protocol, like ProxySQL and
// MaxScale. A statement outside of a transaction that only reads may go to the reader. It is for clients
// whose user has no password, that prepare nothing (interpolateParams) and do not use TLS.
type MySQLSplitter struct {
	// Writer and Reader are host:port.
	Writer, Reader string
	// Away reports whether a statement that only reads goes to the reader. It is called from
	// several goroutines. Nil sends all of them there.
	Away func(sql string) bool
	// ReadOnly sends transactions that are READ ONLY to the reader as a whole.
	ReadOnly bool
}

var mysqlSelects = regexp.MustCompile(`(?is)^\s*(--[^\n]*\n\s*)*select\b`)

// Listen returns the splitter's host and port. It ends with the test.
func (s MySQLSplitter) Listen(tb testing.TB) (address string) {
	tb.Helper()
	return listen(tb, s.serve)
}

// Open returns the splitter's host and port, and a function that closes it and all its sessions.
func (s MySQLSplitter) Open(ctx context.Context) (address string, closeAll func(), err error) {
	return open(ctx, s.serve)
}

// Bytes that distinguish packets of MySQL's protocol.
const (
	packetOK      = 0x00
	packetSwitch  = 0xfe // to another way to log in; also the end of rows
	packetError   = 0xff
	commandQuery  = 3
	largestPacket = 1<<24 - 1
)

func (s MySQLSplitter) serve(ctx context.Context, lines *Lines, client net.Conn) error {
	writer, err := lines.Dial(ctx, "tcp", s.Writer)
	if err != nil {
		return err
	}
	defer func() { _ = writer.Close() }()
	greeting, err := readPacket(writer)
	if err == nil {
		_, err = client.Write(greeting)
	}
	if err != nil {
		return err
	}
	hello, err := readPacket(client)
	if err == nil {
		_, err = writer.Write(hello)
	}
	if err == nil {
		err = logIn(writer, client)
	}
	if err != nil {
		return err
	}
	reader, err := lines.Dial(ctx, "tcp", s.Reader)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	if _, err = readPacket(reader); err == nil {
		_, err = reader.Write(hello)
	}
	if err == nil {
		err = logIn(reader, nil)
	}
	if err != nil {
		return err
	}
	var answers sync.WaitGroup
	for _, server := range []net.Conn{writer, reader} { // only one of them sends at a time
		answers.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
	err = s.route(client, writer, reader)
	_, _ = writer.Close(), reader.Close()
	answers.Wait()
	return err
}

// route hands each command of the client to a server.
func (s MySQLSplitter) route(client io.Reader, writer, reader io.Writer) error {
	inside, away := false, false // in a transaction; its statements go to the reader
	for {
		packet, err := readPacket(client)
		if err != nil {
			return err
		}
		to := writer
		if len(packet) > 5 && packet[4] == commandQuery {
			sql := string(packet[5:])
			switch word := strings.ToUpper(sql); {
			case strings.HasPrefix(word, "START TRANSACTION"), strings.HasPrefix(word, "BEGIN"):
				inside, away = true, s.ReadOnly && strings.Contains(word, "READ ONLY")
			case !inside && mysqlSelects.MatchString(sql) && !strings.Contains(word, "FOR UPDATE") && (s.Away == nil || s.Away(sql)):
				to = reader
			}
			if away {
				to = reader
			}
			if word := strings.ToUpper(sql); strings.HasPrefix(word, "COMMIT") || strings.HasPrefix(word, "ROLLBACK") {
				inside, away = false, false
			}
		}
		if _, err := to.Write(packet); err != nil {
			return err
		}
	}
}

// logIn continues a log-in until the server has accepted it. Without a client, it answers with an
// empty password.
func logIn(server, client io.ReadWriter) error {
	for {
		packet, err := readPacket(server)
		if err != nil {
			return err
		}
		if len(packet) == 4 {
			return io.ErrUnexpectedEOF
		}
		if client != nil {
			if _, err := client.Write(packet); err != nil {
				return err
			}
		}
		switch packet[4] {
		case packetOK:
			return nil
		case packetError:
			return fmt.Errorf("faultnet: log in: %q", packet[4:])
		case packetSwitch:
			reply := []byte{0, 0, 0, packet[3] + 1}
			if client != nil {
				if reply, err = readPacket(client); err != nil {
					return err
				}
			}
			if _, err := server.Write(reply); err != nil {
				return err
			}
		}
	}
}

// readPacket reads a packet of MySQL's protocol with its header, and all packets of a large one.
func readPacket(from io.Reader) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		return nil, err
	}
	n := int(binary.LittleEndian.Uint32(header[:]) & largestPacket)
	packet := make([]byte, len(header)+n)
	copy(packet, header[:])
	_, err := io.ReadFull(from, packet[len(header):])
	if err == nil && n == largestPacket { // a command of several packets
		rest, err := readPacket(from)
		return slices.Concat(packet, rest), err
	}
	return packet, err
}
