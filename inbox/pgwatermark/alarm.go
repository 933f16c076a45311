package pgwatermark

import (
	"context"
	"log/slog"

	"github.com/leat-go/leat/internal/hooks"
)

// AlarmKind is what an alarm is about.
type AlarmKind string

const (
	// AlarmNewSource means that a topic is another log than the one that was
	// remembered by its name.
	AlarmNewSource AlarmKind = "new_source"
	// AlarmBeyondEnd means that the offset to go on at is beyond the end of the log,
	// which has lost its tail.
	AlarmBeyondEnd AlarmKind = "beyond_end"
	// AlarmMissing means that the log has dropped offsets that were not processed.
	AlarmMissing AlarmKind = "missing"
)

// AlarmHook sees what an operator should see to.
type AlarmHook interface {
	// OnPgwatermarkAlarm is called by Assigned, after its transaction has ended. The same
	// is logged as an error. It tells of what has happened, and has no end.
	OnPgwatermarkAlarm(ctx context.Context, e AlarmEvent)
}

// AlarmEvent is what an operator should see to.
type AlarmEvent struct {
	// Kind tells which of the other fields matter.
	Kind AlarmKind
	// Consumer is the name of the consumer.
	Consumer string
	// Topic and Source are what the session was given.
	Topic, Source string
	// Known is the source that is remembered for Topic, of AlarmNewSource.
	Known string
	// Partition, Start and End are what the session was given, Next the offset to go
	// on at, of the other kinds.
	Partition        int32
	Next, Start, End int64
	// Refused is set if Assigned has returned an error for it.
	Refused bool
}

// raise tells the hooks and the log.
func (in *Inbox) raise(ctx context.Context, alarms []AlarmEvent) {
	for _, a := range alarms {
		attrs := []slog.Attr{
			slog.String("alarm", string(a.Kind)), slog.String("consumer", a.Consumer),
			slog.String("topic", a.Topic), slog.String("source", a.Source), slog.Bool("refused", a.Refused),
		}
		if a.Kind == AlarmNewSource {
			attrs = append(attrs, slog.String("known_source", a.Known))
		} else {
			attrs = append(attrs, slog.Int("partition", int(a.Partition)),
				slog.Int64("next", a.Next), slog.Int64("start", a.Start), slog.Int64("end", a.End))
		}
		in.cfg.Logger.LogAttrs(ctx, slog.LevelError, "inbox watermark alarm", attrs...)
		hooks.Call(ctx, in.cfg.Logger, in.cfg.Hooks, func(h AlarmHook) { h.OnPgwatermarkAlarm(ctx, a) })
	}
}
