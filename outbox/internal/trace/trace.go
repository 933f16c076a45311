// Package trace has the part of tracing a message that all stores share.
package trace

import (
	"slices"

	"github.com/leat-go/leat/outbox/admin"
)

// Most bounds each list of a trace: anyone who may INSERT chooses ids, and may use one id for all
// rows.
const Most = 100

// Settled returns what happened to a message of group that its position is past: it was sent,
// unless it was set aside according to known, or the group may have begun behind it. It reads
// Held, Dead and Audit of known.
func Settled(known *admin.Trace, group string, seq int64, behind bool) admin.TraceState {
	is := func(h admin.HeldRecord) bool { return h.Group == group && h.Seq == seq }
	dropped := func(e admin.AuditEntry) bool {
		return e.Group == group && e.Seq == seq && slices.Contains([]string{"skip", "drop", "skip_head"}, e.Action)
	}
	switch {
	case slices.ContainsFunc(known.Held, is):
		return admin.TraceHeld
	case slices.ContainsFunc(known.Dead, is):
		return admin.TraceDead
	case slices.ContainsFunc(known.Audit, dropped):
		return admin.TraceDropped
	case behind:
		return admin.TraceUnknown
	default:
		return admin.TraceSent
	}
}
