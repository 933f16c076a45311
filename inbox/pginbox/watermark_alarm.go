package pginbox

import (
	"context"
	"log/slog"
)

// WatermarkAlarmKind says what an alarm is about.
type WatermarkAlarmKind string

const (
	// AlarmNewSource means that a topic is another log than the one that was
	// remembered by its name.
	AlarmNewSource WatermarkAlarmKind = "new_source"
	// AlarmBeyondEnd means that the offset to go on at is beyond the end of the log,
	// which has lost its tail.
	AlarmBeyondEnd WatermarkAlarmKind = "beyond_end"
	// AlarmMissing means that the log has dropped offsets that were not processed.
	AlarmMissing WatermarkAlarmKind = "missing"
)

// WatermarkAlarm is what an operator should see to.
type WatermarkAlarm struct {
	// Kind says which of the other fields matter.
	Kind WatermarkAlarmKind
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
	// Refused says that Assigned has returned an error for it.
	Refused bool
}

// raise tells the hook and the log.
func (w *Watermark) raise(ctx context.Context, alarms []WatermarkAlarm) {
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
		w.cfg.Logger.LogAttrs(ctx, slog.LevelError, "inbox watermark alarm", attrs...)
		w.cfg.OnAlarm(ctx, a)
	}
}
