package pgmigrate

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrEncoding is returned for a database or a session in which texts are not UTF-8.
var ErrEncoding = errors.New("leat: texts of messages need UTF-8")

// CheckEncoding returns an error that wraps ErrEncoding unless the database of conn and its session
// are in UTF-8. It sends no query: the server has reported both at connect. If a pooler reports
// neither, it returns nil.
func CheckEncoding(conn *pgconn.PgConn) error {
	if server := conn.ParameterStatus("server_encoding"); server != "" && server != "UTF8" {
		return fmt.Errorf("%w: the encoding of the database is %s: make one with ENCODING 'UTF8' TEMPLATE template0, and move there", ErrEncoding, server)
	}
	if client := conn.ParameterStatus("client_encoding"); client != "" && client != "UTF8" {
		return fmt.Errorf("%w: client_encoding is %s: set it to UTF8 for the role, for the database or in the address", ErrEncoding, client)
	}
	return nil
}
