package pglog

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

var errClosed = errors.New("leat: the session's connection is closed")

// gone returns an error if conn, which is idle, has ended or is ending. It sends nothing. If
// nothing has arrived, the server is taken to be alive, at the cost of one system call. Anything
// that has arrived, a final message or a mere notice, is read.
func gone(conn *pgx.Conn) error {
	if conn.IsClosed() {
		return errClosed
	}
	if silent(conn.PgConn().Conn()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if _, err := conn.PgConn().ReceiveMessage(ctx); err != nil && !pgconn.Timeout(err) {
		return err
	}
	return nil
}

// socket returns the connection below TLS.
func socket(conn net.Conn) net.Conn {
	if t, ok := conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return conn
}
