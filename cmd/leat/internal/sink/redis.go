package sink

import (
	"crypto/tls"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/redissink"
)

// Redis opens the Redis that s names, with cfg. Errors about its address name the setting.
func Redis(s settings.RedisSink, cfg redissink.Config) (*redissink.Sink, error) {
	server, err := redisServer(s)
	if err != nil {
		return nil, err
	}
	return redissink.New(server, cfg)
}

func redisServer(s settings.RedisSink) (*redis.UniversalOptions, error) {
	const form = "must be redis://HOST:PORT/DB or rediss://HOST:PORT/DB, without parameters"
	options, err := redis.ParseURL(s.URL.Value)
	switch {
	case s.URL.Value == "":
		return nil, outbox.ConfigError("url", `""`, form)
	case err != nil || options.Network != "tcp" || strings.Contains(s.URL.Value, "?"):
		return nil, outbox.ConfigError("url", "given", form) // the error can contain the password
	}
	host, _, err := net.SplitHostPort(options.Addr)
	if err != nil {
		return nil, outbox.ConfigError("url", "given", form)
	}
	server := &redis.UniversalOptions{Addrs: []string{options.Addr}, DB: options.DB, Username: options.Username, Password: options.Password}
	if server.TLSConfig, err = redisTLS(s, options.TLSConfig != nil); err != nil {
		return nil, err
	}
	if len(s.Sentinels) == 0 {
		if s.SentinelPassword.Set() {
			return nil, outbox.ConfigError("sentinels", "[]", "must name one with sentinel_password")
		}
		return server, nil
	}
	server.MasterName, server.SentinelPassword, server.Addrs = host, s.SentinelPassword.Value, nil
	for i, sentinel := range s.Sentinels {
		if host, port, err := net.SplitHostPort(sentinel.Value); err != nil || host == "" || port == "" {
			return nil, outbox.ConfigError(fmt.Sprintf("sentinels[%d]", i), sentinel.Value, "must be host:port")
		}
		server.Addrs = append(server.Addrs, sentinel.Value)
	}
	return server, nil
}

// redisTLS returns nil if connections are not encrypted.
func redisTLS(s settings.RedisSink, encrypted bool) (*tls.Config, error) {
	files := certificates{"", s.CAFile, s.CertFile, s.KeyFile}
	if encrypted {
		return files.config()
	}
	if files.set() {
		return nil, outbox.ConfigError("url", "given", "must begin with rediss:// with ca_file, cert_file or key_file")
	}
	return nil, nil //nolint:nilnil // no encryption
}
