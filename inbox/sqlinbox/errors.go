package sqlinbox

import "errors"

// ErrUnsupported is returned for every message if this inbox cannot work on the
// database, or not with the database's settings. The text says what to change.
var ErrUnsupported = errors.New("leat: the database cannot hold this inbox")
