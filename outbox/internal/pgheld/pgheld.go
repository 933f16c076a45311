// Package pgheld keeps the records that a relay has set aside, in tables in PostgreSQL: those
// that are held until they can be delivered, the dead ones, and the audit of what relays and
// operators did. It does not know what a position in the source is: the caller of Hold provides
// how to move it.
//
// The invariant for the held records of a key: the first one is tried again (retry) or waits for
// an operator (parked), and none behind it is tried. So no record of a key is sent past a held
// record of the key. Every write ends with a statement that restores this for the keys that it
// has touched.
//
// Writers of a group take turns. A writer first takes the group's advisory lock, in a separate
// statement, and reads afterwards, at READ COMMITTED. Otherwise a relay that holds a record
// behind the last one of its key, while an operator drops that one, would leave it waiting for
// nothing. A relay's writes are also fenced by its lease, whose row it locks until it commits.
package pgheld

import (
	"embed"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

//go:embed sql/*.sql
var files embed.FS

// Statements are the package's SQL for one log. A value is safe for concurrent
// use.
type Statements struct {
	names pgmigrate.Names

	lock, fence                    string
	hold, settle, free, keys, due  string
	count, hasten                  string
	leave, stay                    string
	byID, first, pickParked        string
	pickLine, pickDead             string
	redrive, redriveDead           string
	pickRetried, park              string
	drop, dropDead                 string
	look, lookDead                 string
	listHeld, listDead, listKeys   string
	listFailures, listFailuresDead string
	traceHeld, traceDead           string
	listAudit, listAuditNewest     string
	listAuditID, listAuditIDNewest string
	note                           string
	keepOut, listOut               string
	eraseLook, eraseHeld           string
	eraseDead                      string
	eraseAuditLook, eraseAudit     string
}

// Prepare renders the statements for the log called names.Table, next to which are the leases and
// the package's own tables.
func Prepare(names pgmigrate.Names) (*Statements, error) {
	s := &Statements{names: names}
	return s, sqlfile.Load(files, names.Render, map[string]*string{
		"lock": &s.lock, "fence": &s.fence, "hasten": &s.hasten,
		"hold": &s.hold, "settle": &s.settle, "free": &s.free, "keys": &s.keys, "due": &s.due,
		"count": &s.count,
		"leave": &s.leave, "stay": &s.stay,
		"by_id": &s.byID, "first": &s.first, "pick_parked": &s.pickParked,
		"pick_line": &s.pickLine, "pick_dead": &s.pickDead,
		"redrive": &s.redrive, "redrive_dead": &s.redriveDead,
		"pick_retried": &s.pickRetried, "park": &s.park,
		"drop": &s.drop, "drop_dead": &s.dropDead,
		"look": &s.look, "look_dead": &s.lookDead,
		"list_held": &s.listHeld, "list_dead": &s.listDead, "list_keys": &s.listKeys,
		"list_failures": &s.listFailures, "list_failures_dead": &s.listFailuresDead,
		"trace_held": &s.traceHeld, "trace_dead": &s.traceDead,
		"list_audit": &s.listAudit, "list_audit_newest": &s.listAuditNewest,
		"list_audit_id": &s.listAuditID, "list_audit_id_newest": &s.listAuditIDNewest,
		"note": &s.note, "keep_out": &s.keepOut, "list_out": &s.listOut,
		"erase_look": &s.eraseLook, "erase_held": &s.eraseHeld, "erase_dead": &s.eraseDead,
		"erase_audit_look": &s.eraseAuditLook, "erase_audit": &s.eraseAudit,
	})
}

// lockOf returns the advisory lock of group's held records.
func (s *Statements) lockOf(group string) int64 {
	return keyhash.Lock("held", s.names.Qualified(""), group)
}
