package sqlinbox

import (
	"errors"
)

var (
	// ErrUnsupported is returned for every message if this inbox cannot work on the
	// database, or not with the database's settings. The text says what to change.
	ErrUnsupported = errors.New("leat: the database cannot hold this inbox")

	// ErrEnded is returned if the transaction of a delivery was no longer open when the
	// handler had returned: the handler has ended it, or the database has, after a
	// statement whose error the handler did not return. What the handler wrote
	// afterwards has committed by itself.
	ErrEnded = errors.New("leat: the transaction of the inbox was ended before its COMMIT")
)
