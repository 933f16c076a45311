//go:build !no_nats

package sink

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/natssink"
)

// NATS opens the servers that s names. Errors about them name the setting.
func NATS(s settings.NATSSink, unacked int, logger *slog.Logger) (*natssink.Sink, error) {
	urls := make([]string, len(s.URLs))
	for i, t := range s.URLs {
		u, err := url.Parse(t.Value)
		if err != nil || u.Hostname() == "" || strings.Contains(t.Value, ",") || !slices.Contains([]string{"nats", "tls"}, u.Scheme) {
			// The error can have the password.
			return nil, outbox.ConfigError(fmt.Sprintf("urls[%d]", i), "given", "must be nats://HOST:PORT or tls://HOST:PORT")
		}
		urls[i] = t.Value
	}
	if len(urls) == 0 {
		return nil, outbox.ConfigError("urls", "[]", "must name a server")
	}
	cfg := natssink.Config{MaxUnacked: unacked, Logger: logger, Options: []nats.Option{nats.Name("leat")}}
	if s.CredentialsFile.Set() {
		if _, err := os.Stat(s.CredentialsFile.Value); err != nil {
			return nil, outbox.ConfigError("credentials_file", s.CredentialsFile.Value, err.Error())
		}
		cfg.Options = append(cfg.Options, nats.UserCredentials(s.CredentialsFile.Value))
	}
	if files := (certificates{"", s.CAFile, s.CertFile, s.KeyFile}); files.set() {
		config, err := files.config()
		if err != nil {
			return nil, err
		}
		cfg.Options = append(cfg.Options, nats.Secure(config))
	}
	return natssink.New(strings.Join(urls, ","), cfg)
}
