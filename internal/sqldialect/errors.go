package sqldialect

import (
	"errors"
	"regexp"
	"strconv"
)

// Numbers of errors that leat acts on. MySQL's and MariaDB's have four digits, SQLite's
// are its primary result codes.
const (
	LockWaitTimeout  = 1205 // also MariaDB's answer to NOWAIT
	Deadlock         = 1213
	LockNowait       = 3572 // MySQL's answer to NOWAIT
	DuplicateKey     = 1062
	NoSuchTable      = 1146
	sqliteError      = 1
	SQLiteBusy       = 5
	SQLiteLocked     = 6
	SQLiteReadOnly   = 8
	SQLiteConstraint = 19
)

var (
	mysqlText    = regexp.MustCompile(`^Error (\d{4})\b`)
	noTableText  = regexp.MustCompile(`no such table`)
	lockedText   = regexp.MustCompile(`database (table )?is locked`)
	readOnlyText = regexp.MustCompile(`attempt to write a readonly database`)
)

// Number returns the number of a database's error, of SQLite the primary one; 0 if there
// is none. Drivers are told apart by what their errors have in common, since none is
// imported: a method Code, or the text.
func Number(err error) int {
	if coded, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		return coded.Code() & 0xff
	}
	for ; err != nil; err = errors.Unwrap(err) {
		text := err.Error()
		if found := mysqlText.FindStringSubmatch(text); found != nil {
			n, _ := strconv.Atoi(found[1]) // four digits
			return n
		}
		switch {
		case lockedText.MatchString(text):
			return SQLiteBusy
		case readOnlyText.MatchString(text):
			return SQLiteReadOnly
		case noTableText.MatchString(text):
			return sqliteError
		}
	}
	return 0
}

// Locked reports whether a statement failed because somebody else has a lock: it can be
// tried again, in a new transaction.
func Locked(err error) bool {
	switch Number(err) {
	case LockWaitTimeout, Deadlock, LockNowait, SQLiteBusy, SQLiteLocked:
		return true
	default:
		return false
	}
}

// MissingTable reports whether a statement failed because a table is not there.
func MissingTable(err error) bool {
	return err != nil && (Number(err) == NoSuchTable || noTableText.MatchString(err.Error()))
}

// Duplicate reports whether a statement failed because a key is there already.
func Duplicate(err error) bool {
	n := Number(err)
	return n == DuplicateKey || n == SQLiteConstraint
}
