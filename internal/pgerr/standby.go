package pgerr

import (
	"errors"
	"fmt"
	"strings"
)

// ErrStandby is returned when a server in recovery has answered. Its snapshots do not list the
// primary's open transactions, and it may lag: rows that it does not have yet look as if they did
// not exist.
var ErrStandby = errors.New("leat: server is a standby (in recovery)")

// answeredByStandby is the reason in the error that Primary raises.
const answeredByStandby = "answered by a standby: connect leat to the primary itself, past the read/write splitter"

// Primary is an SQL condition that is true on a primary. On a standby it raises an error whose text
// names the reason, whichever client shows it. Splitters that judge a statement by the functions
// that it calls send it to the primary, since pg_is_in_recovery is volatile.
const Primary = "(SELECT (CASE WHEN pg_is_in_recovery() THEN '" + answeredByStandby + "' END)::int) IS NULL"

// Unfit reports whether err is about the session, not about the statement: the session takes no
// writes, by a setting of its own or because it leads to a standby. Close such a session. Its pool
// would hand it out again and again, and sooner than others, since it is free as soon as it has
// refused.
func Unfit(err error) bool {
	return Is(err, ReadOnlyTransaction) || errors.Is(Standby(err), ErrStandby)
}

// Standby adds ErrStandby to the error that Primary raises, and returns every other error as it is.
func Standby(err error) error {
	if Is(err, InvalidText) && strings.Contains(err.Error(), answeredByStandby) && !errors.Is(err, ErrStandby) {
		return fmt.Errorf("%w: %w", ErrStandby, err)
	}
	return err
}
