// Package sink opens the destinations that leat sends to.
package sink

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
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

// Options are those of clients of the cluster that s names. Errors wrap
// outbox.ErrInvalidConfig and name the setting.
func Options(s settings.Kafka) ([]kgo.Opt, error) {
	brokers := settings.List(s.Brokers.Value)
	if len(brokers) == 0 {
		return nil, outbox.ConfigError("kafka.brokers", `""`, "must name a broker: --brokers, LEAT_KAFKA_BROKERS, or the configuration")
	}
	for _, broker := range brokers {
		if _, _, err := net.SplitHostPort(broker); err != nil {
			return nil, outbox.ConfigError("kafka.brokers", broker, "must be host:port")
		}
	}
	var options []kgo.Opt
	config, err := encryption(s)
	if err != nil {
		return nil, err
	}
	if config != nil {
		options = append(options, kgo.DialTLSConfig(config))
	}
	mechanism, err := mechanism(s)
	if err != nil {
		return nil, err
	}
	if mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	return options, nil
}

// encryption returns nil if connections are not encrypted.
func encryption(s settings.Kafka) (*tls.Config, error) {
	files := s.CAFile.Value + s.CertFile.Value + s.KeyFile.Value
	if !slices.Contains([]string{"", "true", "false"}, s.TLS.Value) {
		return nil, outbox.ConfigError("kafka.tls", s.TLS.Value, "must be true or false")
	}
	if s.TLS.Value != "true" {
		if files != "" {
			return nil, outbox.ConfigError("kafka.tls", s.TLS.Value, "must be true with ca_file, cert_file or key_file")
		}
		return nil, nil //nolint:nilnil // no encryption
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CAFile.Set() {
		content, err := os.ReadFile(s.CAFile.Value)
		if err != nil {
			return nil, outbox.ConfigError("kafka.ca_file", s.CAFile.Value, err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, outbox.ConfigError("kafka.ca_file", s.CAFile.Value, "has no certificate in PEM")
		}
	}
	if s.CertFile.Set() || s.KeyFile.Set() {
		pair, err := tls.LoadX509KeyPair(s.CertFile.Value, s.KeyFile.Value)
		if err != nil {
			return nil, outbox.ConfigError("kafka.cert_file, kafka.key_file", s.CertFile.Value+", "+s.KeyFile.Value, err.Error())
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
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
