// Package pgwindow keeps the position of a reader in an append-only PostgreSQL log whose rows
// carry their transaction id: a chain of snapshot windows, each write of which is fenced by the
// reader's lease.
//
// A position is a snapshot, not a number. Window k is every row that its target
// snapshot T(k) sees and T(k-1) does not. A transaction that commits late
// appears in a later window; nothing is skipped and nothing waits for it.
//
// # Why a window need not walk the log from its start
//
// Each window row stores F, the sequence's value read before the transaction that inserted the
// row began. Window k+1 starts its walk at the F stored with window k-1. A row of window k+1 is
// not visible in T(k), so its transaction was either in progress in T(k), and then it is looked
// up by its xid, or its xid is at or above the xmax of T(k). The transaction that inserted row
// k-1 had committed before T(k) was taken, so its xid is below that xmax; F was read before it
// began; and the row drew its number after its xid. Hence the number is above F. One window
// earlier would not do: xmax is one past the highest completed xid, and transactions above it may
// have drawn their numbers already.
//
// A window that is opened long after the one before, over a large backlog, would make the window
// after it walk that backlog once more. Raise avoids it: in a separate transaction it stores the
// probe's F as that of the newest window. It has committed before the next window's target is
// taken, so the argument is the same.
//
// # When to look for new rows
//
// The probe compares the sequence with the newest F. Equal, and the same F twice in a row, means
// that every number was drawn before the transaction of the window before the newest, so that its
// xid is visible in T(k) or listed in it as in progress; the probe checks those. Equal, but F had
// moved with the newest window: a number may belong to an xid between xmax of T(k) and the
// window's own xid; if these two differ, one more window is opened.
//
// # When the sequence is set back
//
// The proof rests on numbers that ascend. setval can set them back at any moment, and leaves no
// trace of its own: the sequence may have passed its former value again before the next look. So
// the statement that opens window k+1 looks, in the snapshot that becomes T(k+1), for a row that
// the proof forbids: one with an xid at or above the xmax of T(k) and a number that is not above
// the floor of k+1. Such rows are exactly those that the window would leave out. A stronger form
// costs no more: a transaction whose xid is above the one that inserted row k drew it after F(k)
// was read, so its numbers are above F(k). It finds a sequence that was set back within a window
// as well, where two rows of a key could change places. With either row the window is refused,
// now and at every later look, since rows stay. If the sequence has exactly its former value, the
// probe asks the index for rows above the xmax of T(k), too.
//
// Not detected are: a sequence that is set back to F(k) or above, after only numbers that were
// drawn since window k was opened; and numbers that are assigned again to transactions which were
// in progress in T(k). No row is lost by that, since those are in window k+1, above its floor or
// looked up by their xids. But if a transaction was open when the sequence was set back, its keys
// can be out of order there. See design 2.1, 2.2 and 2.7.
package pgwindow

import (
	"embed"
	"errors"
	"strings"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

var (
	// ErrStandby is returned on a server in recovery.
	ErrStandby = pgerr.ErrStandby
	// ErrSequenceCache is returned when sessions would cache numbers.
	ErrSequenceCache = errors.New("leat: the log's sequence caches numbers, which breaks the order of keys; set CACHE 1")
	// ErrSequencePrivilege is returned when the role may not read the sequence.
	ErrSequencePrivilege = errors.New("leat: the log's sequence may not be read")
)

//go:embed sql/*.sql
var files embed.FS

// Statements are the package's SQL for one log. A value is safe for concurrent
// use.
type Statements struct {
	names                           pgmigrate.Names
	load, start, probe, open        string
	advance, raise, position, facts string
}

// Prepare renders the statements for the log called names.Table and its leases and positions.
func Prepare(names pgmigrate.Names) (*Statements, error) {
	s := &Statements{names: names}
	return s, sqlfile.Load(files, with(names, "{back}", "false"), map[string]*string{
		"load":     &s.load,
		"start":    &s.start,
		"probe":    &s.probe,
		"open":     &s.open,
		"advance":  &s.advance,
		"raise":    &s.raise,
		"position": &s.position,
		"facts":    &s.facts,
	})
}

// with renders statements that include another one, under name.
func with(names pgmigrate.Names, name, part string) func(sql string) (string, error) {
	return func(sql string) (string, error) {
		return names.Render(strings.ReplaceAll(sql, name, part))
	}
}
