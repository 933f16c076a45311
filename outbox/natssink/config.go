package natssink

import (
	"cmp"
	"context"
	"log/slog"
	"net"

	"github.com/nats-io/nats.go"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

const (
	defaultUnacked = 256
	maxUnacked     = 10_000
)

// Config tunes a Sink. The zero value is a good start.
type Config struct {
	// MaxUnacked is the number of records in flight at a time, 1 to 10,000, each with a different
	// key. Defaults to 256.
	MaxUnacked int

	// Options are the client's, such as nats.UserCredentials or nats.Secure. The sink sets those
	// for reconnecting, dialling and callbacks. Defaults to none.
	Options []nats.Option

	// Dial makes the connections to host:port. They should have the method SetLinger of a net.TCPConn, which
	// resets them. Defaults to a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	c.MaxUnacked = cmp.Or(c.MaxUnacked, defaultUnacked)
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

// validate must be called before withDefaults.
func (c Config) validate() error {
	if c.MaxUnacked < 0 || c.MaxUnacked > maxUnacked {
		return outbox.ConfigError("MaxUnacked", c.MaxUnacked, "must be 1 to 10000")
	}
	return nil
}
