// Package sink opens the destinations that leat sends to.
package sink

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
)

// Kafka opens the cluster that s names.
func Kafka(s settings.Kafka, logger *slog.Logger) (*kafkasink.Sink, error) {
	options, err := Options(s)
	if err != nil {
		return nil, err
	}
	return kafkasink.New(settings.List(s.Brokers.Value), kafkasink.Config{Options: options, Logger: logger})
}

// Options are the options of clients of the cluster that s names. Errors wrap outbox.ErrInvalidConfig and
// name the setting.
func Options(s settings.Kafka) ([]kgo.Opt, error) {
	if err := checkBrokers(s); err != nil {
		return nil, err
	}
	_, options, err := connection(s)
	return options, err
}

func checkBrokers(s settings.Kafka) error {
	brokers := settings.List(s.Brokers.Value)
	if len(brokers) == 0 {
		return outbox.ConfigError("kafka.brokers", `""`, "must name a broker: --brokers, LEAT_KAFKA_BROKERS, or the configuration")
	}
	for _, broker := range brokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			return outbox.ConfigError("kafka.brokers", broker, "must be host:port")
		}
	}
	return nil
}

// connection returns the encryption of connections, nil if they are not encrypted, and the options of
// clients that use it.
func connection(s settings.Kafka) (config *tls.Config, options []kgo.Opt, err error) {
	config, err = encryption(s)
	if err != nil {
		return nil, nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	mechanism, err := mechanism(s)
	if err != nil {
		return nil, nil, err
	}
	if mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	return config, options, nil
}

// encryption returns nil if connections are not encrypted.
func encryption(s settings.Kafka) (*tls.Config, error) {
	files := certificates{"kafka.", s.CAFile, s.CertFile, s.KeyFile}
	if !slices.Contains([]string{"", "true", "false"}, s.TLS.Value) {
		return nil, outbox.ConfigError("kafka.tls", s.TLS.Value, "must be true or false")
	}
	if s.TLS.Value != "true" {
		if files.set() {
			return nil, outbox.ConfigError("kafka.tls", s.TLS.Value, "must be true with ca_file, cert_file or key_file")
		}
		return nil, nil //nolint:nilnil // no encryption
	}
	return files.config()
}

// mechanism returns nil if clients do not sign in.
func mechanism(s settings.Kafka) (sasl.Mechanism, error) {
	user, password := s.User.Value, s.Password.Value
	switch s.SASL.Value {
	case "":
		if user+password != "" {
			return nil, outbox.ConfigError("kafka.sasl", `""`, "must be set with user and password")
		}
		return nil, nil //nolint:nilnil // no signing in
	case "plain":
		return plain.Auth{User: user, Pass: password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism(), nil
	default:
		return nil, outbox.ConfigError("kafka.sasl", fmt.Sprintf("%q", s.SASL.Value), "must be plain, scram-sha-256 or scram-sha-512")
	}
}

// Sent is the configuration with which a daemon sends to Kafka.
type Sent struct {
	kafkasink.TransactionalConfig

	// ExactlyOnce is set if the whole TransactionalConfig applies, and not only its Config.
	ExactlyOnce bool
	// Compression is none, gzip, snappy, lz4 or zstd.
	Compression string
	// Format is leat or watermill, Partitioner java, sarama or "".
	Format, Partitioner string
	// Dial opens unencrypted connections. Defaults to that of package net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Open opens the cluster at brokers with credentials.
func Open(brokers []string, c *Credentials, s Sent) (interface {
	driver.Sink
	Close() error
}, error,
) {
	cfg := s.TransactionalConfig
	cfg.Options = append(c.options(s.Dial), kgo.ClientID("leat"))
	codecs := map[string]kgo.CompressionCodec{
		"gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	if codec, ok := codecs[s.Compression]; ok {
		cfg.Compression = codec
	}
	if s.Format == "watermill" {
		cfg.Format = kafkasink.FormatWatermill
	}
	switch s.Partitioner {
	case "java":
		cfg.Partitioner = kafkasink.PartitionJava
	case "sarama":
		cfg.Partitioner = kafkasink.PartitionSarama
	}
	if s.ExactlyOnce {
		return kafkasink.NewTransactional(brokers, cfg)
	}
	return kafkasink.New(brokers, cfg.Config)
}
