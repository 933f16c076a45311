package basis

import (
	"context"
	"fmt"
	"log/slog"
)

// Renamed refuses a group whose name has changed to now. now is empty if it has not.
func Renamed(group, now string) error {
	if now == "" {
		return nil
	}
	return Refuse(ErrRenamed, fmt.Sprintf("group %.100q is %.100q", group, now))
}

// LogBeside logs, before a new group starts behind them, that messages wait for another group. Each
// such group gets its own line, since a logger tells causes apart by the attributes that it was
// given beforehand.
func LogBeside(ctx context.Context, log *slog.Logger, group, other string, waiting int64) {
	if waiting == 0 {
		return
	}
	log.With(slog.String("group", group), slog.String("other", other)).LogAttrs(ctx, slog.LevelWarn, "a new group begins behind messages that wait for another one, and does not send them; "+
		"if it is that group by another name, stop both, remove the new one, and call leat groups rename",
		slog.Int64("waiting", waiting))
}

// LogEmpty logs that a new group begins in an outbox that has never had a message. It cannot be checked
// here whether another database had a full one: sinks do not remember it, unless they keep positions, which
// are compared.
func LogEmpty(ctx context.Context, log *slog.Logger, group string) {
	log.LogAttrs(ctx, slog.LevelInfo, "the group begins in an outbox that has never had a message: if the database was moved here without leat's tables, "+
		"what waited, was delayed or parked there is not here (docs/moves.md)", slog.String("group", group))
}
