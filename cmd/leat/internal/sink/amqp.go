package sink

import (
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/outbox/amqpsink"
)

// AMQP opens RabbitMQ at the URLs of s, with cfg and the certificates of s.
func AMQP(s settings.AMQPSink, cfg amqpsink.Config) (*amqpsink.Sink, error) {
	if files := (certificates{"", s.CAFile, s.CertFile, s.KeyFile}); files.set() {
		config, err := files.config()
		if err != nil {
			return nil, err
		}
		cfg.TLS = config
	}
	urls := make([]string, len(s.URLs))
	for i, url := range s.URLs {
		urls[i] = url.Value
	}
	return amqpsink.New(urls, cfg)
}
