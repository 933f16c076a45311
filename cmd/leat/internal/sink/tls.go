package sink

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
)

// certificates are the certificate files of a section, with the names that errors use for them.
type certificates struct {
	section       string
	ca, cert, key settings.Text
}

// config returns the TLS configuration.
func (c certificates) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.ca.Set() {
		content, err := os.ReadFile(c.ca.Value)
		if err != nil {
			return nil, outbox.ConfigError(c.section+"ca_file", c.ca.Value, err.Error())
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, outbox.ConfigError(c.section+"ca_file", c.ca.Value, "has no certificate in PEM")
		}
	}
	if c.cert.Set() || c.key.Set() {
		pair, err := tls.LoadX509KeyPair(c.cert.Value, c.key.Value)
		if err != nil {
			return nil, outbox.ConfigError(c.section+"cert_file, "+c.section+"key_file", c.cert.Value+", "+c.key.Value, err.Error())
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// set reports whether a file is named.
func (c certificates) set() bool { return c.ca.Set() || c.cert.Set() || c.key.Set() }
