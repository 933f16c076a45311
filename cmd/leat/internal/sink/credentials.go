package sink

import (
	"context"
	"crypto/tls"
	"net"
	"slices"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// Credentials are the encryption and sign-in of connections to a Kafka cluster. They can be replaced while
// a daemon runs: new connections use the new ones.
type Credentials struct {
	brokers              []string
	mechanism, encrypted string
	now                  atomic.Pointer[credentials]
}

type credentials struct {
	tls  *tls.Config
	sasl sasl.Mechanism
}

// NewCredentials returns the credentials of s. Errors wrap outbox.ErrInvalidConfig and name the setting.
func NewCredentials(s settings.Kafka) (*Credentials, error) {
	if err := checkBrokers(s); err != nil {
		return nil, err
	}
	c := &Credentials{brokers: settings.List(s.Brokers.Value), mechanism: s.SASL.Value, encrypted: s.TLS.Value}
	now, err := readCredentials(s)
	c.now.Store(now)
	return c, err
}

func readCredentials(s settings.Kafka) (*credentials, error) {
	config, err := encryption(s)
	if err != nil {
		return nil, err
	}
	mechanism, err := mechanism(s)
	return &credentials{config, mechanism}, err
}

// Prepare reads the credentials of s, and returns a function that replaces the current ones with them. It
// fails if the brokers, the use of encryption or the sign-in mechanism differ, since credentials of another
// cluster must not be sent to this one.
func (c *Credentials) Prepare(s settings.Kafka) (replace func(), err error) {
	if !slices.Equal(settings.List(s.Brokers.Value), c.brokers) {
		return nil, outbox.ConfigError("kafka.brokers", s.Brokers.Value, "changes with a restart only")
	}
	if s.SASL.Value != c.mechanism {
		return nil, outbox.ConfigError("kafka.sasl", s.SASL.Value, "changes with a restart only")
	}
	if s.TLS.Value != c.encrypted {
		return nil, outbox.ConfigError("kafka.tls", s.TLS.Value, "changes with a restart only")
	}
	next, err := readCredentials(s)
	if err != nil {
		return nil, err
	}
	return func() { c.now.Store(next) }, nil
}

// options are the options of clients with these credentials. dial opens unencrypted connections, or package
// net if it is nil.
func (c *Credentials) options(dial func(ctx context.Context, network, address string) (net.Conn, error)) []kgo.Opt {
	var options []kgo.Opt
	if c.now.Load().tls != nil {
		dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			return (&tls.Dialer{Config: c.now.Load().tls}).DialContext(ctx, network, address)
		}
	}
	if dial != nil {
		options = append(options, kgo.Dialer(dial))
	}
	if c.now.Load().sasl != nil {
		options = append(options, kgo.SASL(current{c}))
	}
	return options
}

// current signs in with the current credentials.
type current struct{ of *Credentials }

// Name implements sasl.Mechanism.
func (m current) Name() string { return m.of.now.Load().sasl.Name() }

// Authenticate implements sasl.Mechanism.
func (m current) Authenticate(ctx context.Context, host string) (sasl.Session, []byte, error) {
	return m.of.now.Load().sasl.Authenticate(ctx, host)
}
