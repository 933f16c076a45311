package pglog

import (
	"crypto/tls"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
)

var errClosed = errors.New("leat: the session's connection is closed")

// gone returns an error if conn, which is idle, has ended or ends. It sends nothing. A server that
// says nothing is there: then it costs one call of the system. Whatever else has come, a word of
// farewell or a mere notice, is read.
func gone(conn *pgx.Conn) error {
	if conn.IsClosed() {
		return errClosed
	}
	if silent(conn.PgConn().Conn()) {
		return nil
	}
	return conn.PgConn().CheckConn()
}

// socket returns the connection below TLS.
func socket(conn net.Conn) net.Conn {
	if t, ok := conn.(*tls.Conn); ok {
		return t.NetConn()
	}
	return conn
}
