// Package logger gives every Config its default logger, so that nothing that an
// operator must know is lost because nobody set one.
package logger

import (
	"context"
	"log/slog"
)

// Or returns l. If l is nil, it returns slog.Default() as it is now, limited to
// warnings and errors: a library is silent while all is well.
func Or(l *slog.Logger) *slog.Logger {
	if l != nil {
		return l
	}
	return slog.New(warnings{slog.Default().Handler()})
}

// warnings passes on what is at least a warning and what its handler wants.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler {
	return warnings{w.Handler.WithGroup(name)}
}

// Silent returns a logger for a library that returns its errors, too, so that each is
// logged once, and not in the library's words.
func Silent() *slog.Logger { return slog.New(slog.DiscardHandler) }
