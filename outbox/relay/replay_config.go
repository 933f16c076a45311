package relay

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

// ReplayConfig tunes Replay. Actor and Reason are required.
type ReplayConfig struct {
	// Actor and Reason are who replays, and why. They are stored in the source's audit.
	Actor, Reason string

	// Position resumes an earlier replay of the same history: its
	// ReplayReport.Position.
	// Defaults to none: from the start of the selection.
	Position string

	// Topic names the topic that a record is sent to.
	// Defaults to its own.
	Topic func(r *outbox.Record) string

	// Rate is the largest number of records per second, 0 or more. Defaults to 0: as fast as the
	// sink takes them.
	Rate int

	// PageSize is the largest number of records in one call of Sink.Send, 1 to
	// 100,000. With a Rate, a page holds a tenth of a second of it at most.
	// Defaults to 500.
	PageSize int

	// Attempts is how many times a record is tried whose failures are neither
	// permanent nor an outage, 1 or more.
	// Defaults to 10.
	Attempts int

	// SkipFailed continues after a record that cannot be delivered; the report names it. Defaults
	// to false: the replay stops there.
	SkipFailed bool

	// SkipGaps continues after records that are no longer retained; the report names them.
	// Defaults to false: the replay stops there, with a driver.ErrHistoryGap.
	SkipGaps bool

	// PublishTimeout bounds one call of Sink.Send. Defaults to 5 s.
	PublishTimeout time.Duration

	// BackoffMin and BackoffMax bound the wait after a failure: it doubles with each
	// failure in a row, jittered by a half. Defaults to 50 ms and 5 s.
	BackoffMin, BackoffMax time.Duration

	// Progress is called after each page with the report so far, from the goroutine
	// that replays. Defaults to none.
	Progress func(ctx context.Context, sofar ReplayReport)

	// Logger receives messages for operators. Defaults to slog.Default() as of Replay, warnings
	// and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c ReplayConfig) withDefaults() ReplayConfig {
	c.PageSize = cmp.Or(c.PageSize, 500)
	c.Attempts = cmp.Or(c.Attempts, 10)
	c.PublishTimeout = cmp.Or(c.PublishTimeout, 5*time.Second)
	c.BackoffMin = cmp.Or(c.BackoffMin, 50*time.Millisecond)
	c.BackoffMax = cmp.Or(c.BackoffMax, 5*time.Second)
	if c.Topic == nil {
		c.Topic = func(r *outbox.Record) string { return r.Topic }
	}
	if c.Progress == nil {
		c.Progress = func(context.Context, ReplayReport) {}
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c ReplayConfig) validate() error {
	switch {
	case c.Actor == "":
		return outbox.ConfigError("Actor", `""`, "must not be empty")
	case c.Reason == "":
		return outbox.ConfigError("Reason", `""`, "must not be empty")
	case c.Rate < 0:
		return outbox.ConfigError("Rate", c.Rate, "must not be negative")
	case c.PageSize < 1 || c.PageSize > 100_000:
		return outbox.ConfigError("PageSize", c.PageSize, "must be 1 to 100000")
	case c.Attempts < 1:
		return outbox.ConfigError("Attempts", c.Attempts, "must be positive")
	case c.PublishTimeout < 0:
		return outbox.ConfigError("PublishTimeout", c.PublishTimeout, "must not be negative")
	case c.BackoffMin < 0:
		return outbox.ConfigError("BackoffMin", c.BackoffMin, "must not be negative")
	case c.BackoffMax < c.BackoffMin:
		return outbox.ConfigError("BackoffMax", c.BackoffMax, "must not be below the shortest wait, "+c.BackoffMin.String())
	default:
		return nil
	}
}

// pageSize is PageSize, or less if the Rate is low.
func (c ReplayConfig) pageSize() int {
	if c.Rate == 0 {
		return c.PageSize
	}
	return min(c.PageSize, max(c.Rate/10, 1))
}
