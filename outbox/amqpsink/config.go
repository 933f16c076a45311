package amqpsink

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
)

const (
	// defaultMaxMessageBytes is the largest body that RabbitMQ 4 accepts by default. Earlier
	// versions accept 128 MiB.
	defaultMaxMessageBytes = 16 << 20

	maxMessageBytes    = 512 << 20 // the most that any RabbitMQ accepts
	defaultUnconfirmed = 1000
	maxUnconfirmed     = 10_000
	maxShort           = 255 // bytes of a routing key, and of a header's name
)

// Config tunes a Sink. The zero value sends each record to the exchange with the name of its
// topic.
type Config struct {
	// Exchange takes the records of all topics. Defaults to the exchange with the name of the
	// record's topic.
	Exchange string

	// Queues sends each record to the queue with the name of its topic, through the default
	// exchange. It excludes Exchange and RoutingKey. Defaults to false.
	Queues bool

	// RoutingKey returns the routing key of a record, at most 255 bytes. It is called from one
	// goroutine at a time, and must not change the record or keep it. Defaults to the topic.
	RoutingKey func(r *outbox.Record) string

	// Declare declares what the records of a topic need: exchange, queues and bindings. It is
	// called before the first record of a topic on each connection, on a channel of its own, and
	// again when no queue takes a record. Declarations that exist in the same form do nothing.
	// While it returns an error the topic is out. Defaults to none: they are declared elsewhere.
	Declare func(channel *amqp.Channel, topic string) error

	// UnroutableIsPermanent makes a record that no queue takes fail for good, so that it is
	// parked. Defaults to false: it is an outage of its topic until a queue is bound, since
	// consumers are often deployed after producers.
	UnroutableIsPermanent bool

	// ContentType is the content type of messages without a header content-type, at most 255 bytes.
	// Defaults to none.
	ContentType string

	// MaxMessageBytes bounds the body of a message, 1 to 536,870,912: a larger one is refused for
	// good. It should be the max_message_size of the brokers. If theirs is smaller, the sink
	// learns it from their answer, for a minute. Defaults to 16 MiB, the limit of RabbitMQ 4.
	MaxMessageBytes int

	// MaxUnconfirmed is the number of records in flight at a time, 1 to 10,000, each with a
	// different key. Defaults to 1,000.
	MaxUnconfirmed int

	// TLS is for URLs that begin with amqps. It is cloned. Defaults to the system's
	// certificates and the name in the URL.
	TLS *tls.Config

	// Dial makes the connections to host:port. They should have the method SetLinger of a
	// net.TCPConn: without it the connection cannot be reset, and a broker that was blocked may
	// later take records that the sink has given up on, as repeats. Defaults to a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ConnectionName is shown in RabbitMQ's management. Defaults to "leat".
	ConnectionName string

	// Logger receives messages for operators. Defaults to slog.Default() as of New, warnings and
	// errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.RoutingKey == nil {
		c.RoutingKey = func(r *outbox.Record) string { return r.Topic }
	}
	if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	c.MaxMessageBytes = cmp.Or(c.MaxMessageBytes, defaultMaxMessageBytes)
	c.MaxUnconfirmed = cmp.Or(c.MaxUnconfirmed, defaultUnconfirmed)
	c.ConnectionName = cmp.Or(c.ConnectionName, "leat")
	c.TLS = c.TLS.Clone()
	c.Logger = logger.Or(c.Logger)
	return c
}

// validate must be called before withDefaults.
func (c Config) validate() error {
	switch {
	case c.Queues && c.Exchange != "":
		return outbox.ConfigError("Exchange", c.Exchange, "must be empty if Queues is set")
	case c.Queues && c.RoutingKey != nil:
		return outbox.ConfigError("RoutingKey", "a function", "must be nil if Queues is set: the queue's name is the routing key")
	case len(c.Exchange) > maxShort:
		return outbox.ConfigError("Exchange", c.Exchange[:maxShort]+"…", "must have at most 255 bytes")
	case len(c.ContentType) > maxShort:
		return outbox.ConfigError("ContentType", c.ContentType[:maxShort]+"…", "must have at most 255 bytes")
	case c.MaxMessageBytes < 0 || c.MaxMessageBytes > maxMessageBytes:
		return outbox.ConfigError("MaxMessageBytes", c.MaxMessageBytes, "must be 1 to 536870912")
	case c.MaxUnconfirmed < 0 || c.MaxUnconfirmed > maxUnconfirmed:
		return outbox.ConfigError("MaxUnconfirmed", c.MaxUnconfirmed, "must be 1 to 10000")
	}
	return nil
}

// checkURLs returns an error unless each of urls is a URL of AMQP. The error must not contain any
// part of a password. So it leaves out the parser's text: the parser mistakes a password with a
// slash for a port, and quotes it.
func checkURLs(urls []string) error {
	if len(urls) == 0 {
		return outbox.ConfigError("urls", urls, "must name at least one broker")
	}
	for _, u := range urls {
		if _, err := amqp.ParseURI(u); err != nil {
			reason := "one like amqp://host:5672/vhost; other characters than letters and digits percent-encoded in the user and the password before the host"
			if scheme, _, _ := strings.Cut(u, "://"); scheme != "amqp" && scheme != "amqps" {
				reason = "one that begins with amqp:// or amqps://"
			}
			return outbox.ConfigError("urls", slices.Index(urls, u), "must be an AMQP URL: "+reason)
		}
	}
	return nil
}
