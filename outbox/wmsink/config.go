package wmsink

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"log/slog"
	"net"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

const (
	defaultLanes = 16
	maxLanes     = 1024
)

// Config tunes a Sink. The zero value is a good start.
type Config struct {
	// Lanes is the number of calls of Publish that run at the same time, 1 to
	// 1,024. Defaults to 16.
	Lanes int

	// Classify returns what an error of the publisher means. An outage ends the topic
	// for the lane that met it until the next Send; any other kind holds back the
	// record's key only. Kinds other than outbox.FailureOutage and
	// outbox.FailurePermanent count as outbox.FailureUnknown. It is called from
	// many goroutines. Defaults to DefaultClassify.
	Classify func(error) outbox.FailureKind

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.Lanes = cmp.Or(c.Lanes, defaultLanes)
	if c.Classify == nil {
		c.Classify = DefaultClassify
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if c.Lanes < 1 || c.Lanes > maxLanes {
		return outbox.ConfigError("Lanes", c.Lanes, "must be 1 to 1024")
	}
	return nil
}

// DefaultClassify returns the kind that err carries (see outbox.Failed). Otherwise it returns
// FailureOutage for a context that has ended, for errors of the network, and for the errors of
// watermill-amqp, watermill-nats, watermill-redisstream, watermill-sql and watermill-http if the
// broker, the server or the login is at fault; FailurePermanent if the server of watermill-http
// or NATS refuses the message itself; and FailureUnknown for all others: only you know what the
// errors of your publisher mean. docs/watermill-publishers.md lists them.
func DefaultClassify(err error) outbox.FailureKind {
	if d, ok := errors.AsType[*outbox.DeliveryError](err); ok {
		return d.Kind
	}
	for _, target := range [...]error{context.Canceled, context.DeadlineExceeded, io.EOF, net.ErrClosed, driver.ErrBadConn, sql.ErrConnDone} {
		if errors.Is(err, target) {
			return outbox.FailureOutage
		}
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return outbox.FailureOutage
	}
	if kind, ok := kindOfSQL(err); ok {
		return kind
	}
	return kindOfText(err.Error())
}
