// Package logger gives every Config its logger: the default one if none is set, so that an operator
// misses nothing important, and one line for each cause and minute, so that a broker that is
// unavailable for a night does not fill a disk.
package logger

import (
	"context"
	"log/slog"
	"math"
	"time"
)

// Or returns l, with warnings and errors limited to one per cause and minute. If l is nil, it
// returns slog.Default() as it is now, limited likewise and to warnings and errors: a library
// is silent while all is well.
func Or(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(limit(slog.Default().Handler(), slog.LevelWarn))
	}
	if _, ok := l.Handler().(*limited); ok {
		return l // of another Config
	}
	return slog.New(limit(l.Handler(), math.MinInt))
}

// Over logs text at level Info when the condition of the warning "of" has ended, to loggers as Or
// returns them, the default one included. It ends the count of the warning's repeated lines.
func Over(ctx context.Context, l *slog.Logger, of, text string, attrs ...slog.Attr) {
	h := l.Handler()
	if limited, ok := h.(*limited); ok {
		limited.causes.over(limited.prefix + of)
		h = limited.Handler
	}
	info(ctx, h, text, attrs)
}

// Tell logs at level Info, such as that something works again. Unlike other lines of level Info, it also reaches the
// default logger that Or returns.
func Tell(ctx context.Context, l *slog.Logger, text string, attrs ...slog.Attr) {
	if limited, ok := l.Handler().(*limited); ok {
		info(ctx, limited.Handler, text, attrs)
		return
	}
	info(ctx, l.Handler(), text, attrs)
}

func info(ctx context.Context, h slog.Handler, text string, attrs []slog.Attr) {
	if !h.Enabled(ctx, slog.LevelInfo) {
		return
	}
	r := slog.NewRecord(time.Now(), slog.LevelInfo, text, 0)
	r.AddAttrs(attrs...)
	_ = h.Handle(ctx, r)
}

// Silent returns a logger for a library that also returns its errors. So each is logged once, and
// not in the library's words.
func Silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
