// Package pgerr names the errors of PostgreSQL that leat acts on. The names are those
// of appendix A of its manual.
package pgerr

import (
	"errors"
	"slices"
	"strings"
)

// SQLSTATEs.
const (
	CheckViolation          = "23514" // also: a partitioned table has no partition for the row
	ConfigurationLimit      = "53400" // temp_file_limit
	DeadlockDetected        = "40P01"
	DivisionByZero          = "22012"
	DuplicateObject         = "42710"
	DuplicateSchema         = "42P06"
	DuplicateTable          = "42P07"
	FeatureNotSupported     = "0A000"
	InsufficientPrivilege   = "42501"
	InvalidCatalogName      = "3D000"
	InvalidObjectDefinition = "42P17" // also: a partition overlaps another
	InvalidSchemaName       = "3F000"
	InvalidText             = "22P02"
	LockNotAvailable        = "55P03"
	NotNullViolation        = "23502"
	ObjectInUse             = "55006"
	OutOfMemory             = "53200" // also: the table of locks is full
	QueryCanceled           = "57014" // also: statement_timeout
	ReadOnlyTransaction     = "25006"
	SequenceLimitExceeded   = "2200H"
	SerializationFailure    = "40001"
	UndefinedColumn         = "42703"
	UndefinedFunction       = "42883"
	UndefinedObject         = "42704"
	UndefinedTable          = "42P01"
	UniqueViolation         = "23505"
)

// Classes of SQLSTATEs, the first two characters.
const (
	ConnectionException   = "08"
	InvalidAuthorization  = "28"
	InvalidCatalog        = "3D"
	InsufficientResources = "53"
	OperatorIntervention  = "57"
	SystemError           = "58"
)

// sqlStater is an error of the server, as pgx and lib/pq return it.
type sqlStater interface {
	error
	SQLState() string
}

// Is reports whether err is the server's answer, by whatever driver, with one of the
// codes.
func Is(err error, codes ...string) bool {
	answer, ok := errors.AsType[sqlStater](err)
	return ok && slices.Contains(codes, answer.SQLState())
}

// Class returns the class of the server's answer in err, by whatever driver, or "" if there is
// none.
func Class(err error) string {
	answer, ok := errors.AsType[sqlStater](err)
	if !ok || len(answer.SQLState()) != 5 {
		return ""
	}
	return answer.SQLState()[:2]
}

// Outage reports whether err is an answer of a server that lacks disk, memory or connections, shuts
// down, or cannot read its files. A statement that was cancelled, for example by statement_timeout,
// or that has used up its own temporary files does not count: that depends on what the statement
// does.
func Outage(err error) bool {
	switch Class(err) {
	case InsufficientResources, OperatorIntervention, SystemError:
		return !Is(err, QueryCanceled, ConfigurationLimit)
	}
	return false
}

// Refused reports whether an answer of the server, with its untranslated severity and its code, means
// that the statement has done nothing. If the session has ended, the statement may have taken effect:
// a session can end at any point of a statement, including a COMMIT. Poolers report the end of theirs
// in class 08.
func Refused(severity, code string) bool {
	return severity == "ERROR" && !strings.HasPrefix(code, ConnectionException) && !strings.HasPrefix(code, OperatorIntervention+"P")
}

// MissingObject reports whether err says that a schema, a table or a column does not exist.
func MissingObject(err error) bool {
	return Is(err, InvalidSchemaName, UndefinedTable, UndefinedColumn)
}
