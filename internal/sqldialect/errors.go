package sqldialect

import (
	"errors"
	"regexp"
	"strconv"
)

// Numbers of errors that leat acts on. MySQL's and MariaDB's have four digits, SQLite's
// are its primary result codes.
const (
	LockWaitTimeout = 1205 // also MariaDB's answer to NOWAIT
	Deadlock        = 1213
	ChangedSince    = 1020 // MariaDB: a row has changed since the transaction's first read
	GroupConflict   = 3101 // of a group replication: another member has changed the row
	SeveralRows     = 1242 // of a subquery that must have one, see Dialect.SameServer
	LockNowait      = 3572 // MySQL's answer to NOWAIT
	NoSuchTable     = 1146
	NotSupported    = 1235 // in this session: Vitess has no named locks beside a sql_select_limit
	PreventedBy     = 1290 // an option of the server, such as --read-only
	ReadOnlySession = 1792 // the transactions of the session are read only
	ReadOnlyMode    = 1836
	sqliteError     = 1
	SQLiteBusy      = 5
	SQLiteLocked    = 6
	SQLiteReadOnly  = 8
	SQLiteFull      = 13

	sqliteNoMemory   = 7
	sqliteIO         = 10
	sqliteCannotOpen = 14

	tooManyConnections     = 1040
	outOfMemory            = 1041
	diskFull               = 1021
	writeFailed            = 1026
	shutdown               = 1053
	tableFull              = 1114 // of InnoDB: the disk is full
	tooManyUserConnections = 1203
	storageEngineFailed    = 1030 // such as by "No space left on device"
	killed                 = 1927 // MariaDB: the connection was killed, as at a shutdown
	commitFailed           = 1180 // the storage engine has refused the COMMIT, for a reason of its own
)

var (
	mysqlText    = regexp.MustCompile(`^Error (\d{4})\b`)
	noTableText  = regexp.MustCompile(`no such table`)
	busyText     = regexp.MustCompile(`database is locked`)
	lockedText   = regexp.MustCompile(`database (table|schema) is locked`)
	fullText     = regexp.MustCompile(`database or disk is full`)
	ioText       = regexp.MustCompile(`disk I/O error`)
	readOnlyText = regexp.MustCompile(`attempt to write a readonly database`)

	// deadlockAtCommit is the storage engine's reason of error 1180: HA_ERR_LOCK_DEADLOCK.
	deadlockAtCommit = regexp.MustCompile(`Got error 149\b`)
)

// Number returns the number of a database's error, of SQLite the primary one; 0 if there is none.
// No driver is imported: an error is read by its method Code, which returns an int, or by its text.
// The error may be any of those that err wraps, and of several it is the first.
func Number(err error) int {
	if coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return coded.Code() & 0xff
	}
	return numberInText(err)
}

func numberInText(err error) int {
	if err == nil {
		return 0
	}
	if n := textNumber(err.Error()); n != 0 {
		return n
	}
	switch wrapping := err.(type) { //nolint:errorlint // goes through what is wrapped itself
	case interface{ Unwrap() error }:
		return numberInText(wrapping.Unwrap())
	case interface{ Unwrap() []error }:
		for _, inner := range wrapping.Unwrap() {
			if n := numberInText(inner); n != 0 {
				return n
			}
		}
	}
	return 0
}

func textNumber(text string) int {
	if found := mysqlText.FindStringSubmatch(text); found != nil {
		n, _ := strconv.Atoi(found[1]) // four digits
		return n
	}
	switch {
	case busyText.MatchString(text):
		return SQLiteBusy
	case lockedText.MatchString(text):
		return SQLiteLocked
	case readOnlyText.MatchString(text):
		return SQLiteReadOnly
	case fullText.MatchString(text):
		return SQLiteFull
	case ioText.MatchString(text):
		return sqliteIO
	case noTableText.MatchString(text):
		return sqliteError
	}
	return 0
}

// Locked reports whether a statement failed because another transaction holds a lock. It can be
// tried again, in a new transaction.
func Locked(err error) bool {
	switch Number(err) {
	case LockWaitTimeout, Deadlock, LockNowait, SQLiteBusy, SQLiteLocked:
		return true
	default:
		return false
	}
}

// ReadOnly reports whether a statement failed because its session, or the server that the session
// leads to, takes no writes. Another session may take them.
func ReadOnly(err error) bool {
	switch Number(err) {
	case PreventedBy, ReadOnlySession, ReadOnlyMode, SQLiteReadOnly:
		return true
	default:
		return false
	}
}

// Outage reports whether err is an answer of a database that lacks disk, memory or connections, that
// takes no writes, shuts down or cannot read its files, whatever the statement does.
func Outage(err error) bool {
	switch Number(err) {
	case diskFull, writeFailed, storageEngineFailed, tableFull, outOfMemory, tooManyConnections,
		tooManyUserConnections, shutdown, killed, PreventedBy, ReadOnlyMode,
		SQLiteFull, SQLiteReadOnly, sqliteNoMemory, sqliteIO, sqliteCannotOpen:
		return true
	default:
		return false
	}
}

// Conflict reports whether the database has rolled a transaction back because of another one: the
// same transaction may succeed if it runs again. SQLITE_BUSY is not a conflict: the driver has
// waited already.
func Conflict(err error) bool {
	switch Number(err) {
	case Deadlock, ChangedSince, GroupConflict:
		return true
	case commitFailed:
		return deadlockAtCommit.MatchString(err.Error())
	default:
		return false
	}
}

// CommitRefused reports whether the database has answered that a COMMIT did not happen. After other
// answers, such as from a server that is shut down, it may have happened.
func CommitRefused(err error) bool {
	switch Number(err) {
	case SQLiteBusy, SQLiteFull:
		return true
	default:
		return Conflict(err)
	}
}

// MissingTable reports whether a statement failed because a table does not exist.
func MissingTable(err error) bool {
	return err != nil && (Number(err) == NoSuchTable || noTableText.MatchString(err.Error()))
}
