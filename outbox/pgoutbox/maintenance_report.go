package pgoutbox

import (
	"log/slog"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

func rangeAttr(r admin.Range) slog.Attr {
	return slog.Group("range", slog.String("table", r.Table), slog.Int64("from_seq", r.From), slog.Int64("to_seq", r.To))
}

// The kinds of alarms.
const (
	// AlarmHistoryPinned is raised if a group without a greatest lag has not read messages that
	// are older than Retention; without a Retention, older than a day if MaxBytes is set. They
	// are kept for it, for ever. Run its relay, remove the group or give it a greatest lag.
	AlarmHistoryPinned outbox.AlarmKind = "history_pinned"
	// AlarmLag is raised if a group has used up a good part (WarnAt) of its greatest lag, past
	// which it loses history, or, if it has none, of the age from which it pins history.
	AlarmLag outbox.AlarmKind = "lag"
	// AlarmLagExceeded is raised if a group is past its greatest lag and no longer holds anything
	// back.
	AlarmLagExceeded outbox.AlarmKind = "lag_exceeded"
	// AlarmTailInUse is raised if the open-ended range is in use and too large to be closed while
	// producers wait (MaintenanceConfig.MaxTailScan).
	AlarmTailInUse outbox.AlarmKind = "tail_in_use"
	// AlarmPositionUnusable is raised if the position of a group belongs to another cluster or
	// another log, or is ahead of the log: its relays refuse to start, and nothing is dropped or
	// deleted until Rebase, or until the group is removed.
	AlarmPositionUnusable outbox.AlarmKind = "position_unusable"
	// AlarmBusy is raised if the locks for a change of the ranges were not available, since
	// transactions that use the log stay open: producers, a backup.
	AlarmBusy outbox.AlarmKind = "busy"
	// AlarmClock is raised if the clocks of the database and of this process differ by more than an hour, or if
	// the clock of the database has jumped. Nothing is dropped, deleted or exempted until it is trusted again.
	AlarmClock outbox.AlarmKind = "clock"
)

// logged are the attributes of an alarm in the log.
func logged(a outbox.AlarmEvent) []slog.Attr {
	attrs := []slog.Attr{slog.String("kind", string(a.Kind))}
	if a.Group != "" {
		attrs = append(attrs, slog.String("group", a.Group))
	}
	if a.Detail != "" {
		attrs = append(attrs, slog.String("detail", a.Detail))
	}
	return append(attrs, a.Attrs...)
}
