// Package pgwal follows the rows that are inserted into published tables of PostgreSQL, by
// logical replication through a temporary replication slot. See design 2.11.
//
// The slot lives as long as its connection: a reader that is gone pins no WAL and leaves nothing
// behind. A row that was committed before the slot began, or while its table was not in the
// publication, never comes. So a stream shows early that something has happened, but not that
// nothing has.
//
// The protocol's version is 1, in which a transaction is sent after its commit and never in
// pieces: a row that arrives is committed, and on disk.
package pgwal

import (
	"errors"

	"github.com/jackc/pgx/v5"
)

var (
	// ErrProtocol is returned for a message that violates the protocol.
	ErrProtocol = errors.New("leat: replication stream: a message is not as expected")
	// ErrSilent is returned if the server has not answered for half a minute.
	ErrSilent = errors.New("leat: replication stream: the server does not answer")
	// ErrBehind is returned if the stream lags more than Config.MaxLag.
	ErrBehind = errors.New("leat: replication stream: it has fallen behind")
	// ErrEnded is returned if the server has ended the stream in an orderly way, as it does when
	// it is shut down.
	ErrEnded = errors.New("leat: replication stream: the server has ended it")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("leat: replication stream: closed")
)

// Handler receives what a Stream reads. An error ends the stream. Byte slices are valid
// until the method returns.
type Handler interface {
	// Relation announces the name and the columns of a table, before its first row and whenever
	// they change.
	Relation(id uint32, schema, table string, columns []string) error
	// Insert is a row that was inserted, with values in the order of the columns.
	Insert(relation uint32, values []Value) error
	// Commit ends the rows of a transaction.
	Commit() error
}

// Value is a value of a row.
type Value struct {
	// Form is one of the constants below.
	Form byte
	// Data is nil unless Form is Binary or Text.
	Data []byte
}

// Forms of a Value.
const (
	Null      = 'n'
	Unchanged = 'u' // not sent; inserts do not have it
	Text      = 't'
	Binary    = 'b'
)

// createSlot creates a temporary slot. This form is older than version 15 and still
// understood by 18. Creating a slot waits for every transaction of the cluster that writes.
func createSlot(name string) string {
	return "CREATE_REPLICATION_SLOT " + pgx.Identifier{name}.Sanitize() + " TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT"
}

// startReplication starts the stream at the start of the slot.
func startReplication(slot, publication string) string {
	return "START_REPLICATION SLOT " + pgx.Identifier{slot}.Sanitize() +
		" LOGICAL 0/0 (proto_version '1', binary 'true', publication_names " +
		literal(pgx.Identifier{publication}.Sanitize()) + ")"
}
