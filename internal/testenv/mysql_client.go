package testenv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// mysqlConn is as much of a client as it takes to see that a server answers, and that
// it is ours. Tests have a driver; this module is to do without one.
type mysqlConn struct {
	conn     net.Conn
	in       *bufio.Reader
	sequence byte
	// version is what the server greeted with, such as
	// "5.5.5-10.11.18-MariaDB-0+deb12u1".
	version string
}

// errMySQL is returned for an answer that is an error, or none that this client knows.
var errMySQL = errors.New("testenv: MySQL protocol")

// dialMySQL connects and waits for the greeting.
func dialMySQL(ctx context.Context, address string) (*mysqlConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(connectTimeout)
	}
	_ = conn.SetDeadline(deadline)
	c := &mysqlConn{conn: conn, in: bufio.NewReader(conn)}
	greeting, err := c.read()
	if err == nil && greeting[0] != 10 { // the version of the protocol
		err = fmt.Errorf("%w: greeting %q", errMySQL, greeting)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	version, _, _ := bytes.Cut(greeting[1:], []byte{0})
	c.version = string(version)

	return c, nil
}

func (c *mysqlConn) close() { _ = c.conn.Close() }

// login logs a user without a password in.
func (c *mysqlConn) login(user string) error {
	const capabilities = 0x1 | 0x200 | 0x8000 | 0x80000 // long password, protocol 4.1, its passwords, plugins

	b := binary.LittleEndian.AppendUint32(nil, capabilities)
	b = binary.LittleEndian.AppendUint32(b, 1<<24-1)
	b = append(append(b, 45), make([]byte, 23)...)       // utf8mb4, reserved
	b = append(append(b, user...), 0, 0)                 // a password of no bytes
	b = append(append(b, "mysql_native_password"...), 0) // the server names another one if it likes
	if err := c.write(b); err != nil {
		return err
	}
	for {
		answer, err := c.read()
		switch {
		case err != nil:
			return fmt.Errorf("log in as %s: %w", user, err)
		case answer[0] == 0:
			return nil
		case answer[0] == 0xfe: // by another method, whose answer is empty, too
			err = c.write(nil)
		case answer[0] != 1: // 1 has more to come
			err = fmt.Errorf("%w: answer %q to a login", errMySQL, answer)
		}
		if err != nil {
			return err
		}
	}
}

// value returns the one value of a query, which must be shorter than 251 bytes.
func (c *mysqlConn) value(query string) (string, error) {
	c.sequence = 0
	if err := c.write(append([]byte{3}, query...)); err != nil {
		return "", err
	}
	var row []byte
	for range 4 { // number of columns, the column, end of columns, the row
		var err error
		if row, err = c.read(); err != nil {
			return "", fmt.Errorf("%s: %w", query, err)
		}
	}
	if len(row) != int(row[0])+1 {
		return "", fmt.Errorf("%w: %s: row %q", errMySQL, query, row)
	}

	return string(row[1:]), nil
}

// read returns the next packet, which is not empty.
func (c *mysqlConn) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	c.sequence = head[3] + 1
	packet := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(c.in, packet); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if len(packet) == 0 || packet[0] == 0xff {
		return nil, fmt.Errorf("%w: %q", errMySQL, packet)
	}

	return packet, nil
}

func (c *mysqlConn) write(packet []byte) error {
	n := len(packet)
	_, err := c.conn.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), c.sequence}, packet...))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}

// plainMySQLVersion is the number in a version: MariaDB calls itself 5.5.5 first,
// for the sake of old clients.
func plainMySQLVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "5.5.5-"), "-")

	return version
}
