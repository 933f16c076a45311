package pgwatermark

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
)

// The kinds of alarms. Assigned raises them, after its transaction has ended. They report events,
// and have no end. The attribute refused is true if Assigned has returned an error.
const (
	// AlarmNewSource means that a topic is not the log that was remembered under its name.
	AlarmNewSource outbox.AlarmKind = "new_source"
	// AlarmBeyondEnd means that the remembered offset is beyond the end of the log, which has
	// lost its tail.
	AlarmBeyondEnd outbox.AlarmKind = "beyond_end"
	// AlarmMissing means that the log has dropped offsets that were not processed.
	AlarmMissing outbox.AlarmKind = "missing"
)

// raise calls the hooks and logs the alarms.
func (in *Inbox) raise(ctx context.Context, alarms []outbox.AlarmEvent) {
	for _, a := range alarms {
		a.Package, a.Consumer = "pgwatermark", in.Consumer()
		in.cfg.Logger.LogAttrs(ctx, slog.LevelError, "inbox watermark alarm", append([]slog.Attr{
			slog.String("kind", string(a.Kind)), slog.String("consumer", a.Consumer), slog.String("topic", a.Topic),
		}, a.Attrs...)...)
		hooks.Call(ctx, in.cfg.Logger, in.cfg.Hooks, func(h outbox.AlarmHook) { h.OnOutboxAlarm(ctx, a) })
	}
}
