package command

import (
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Destination are the flags of a command that sends to a destination without a file.
type Destination struct {
	Brokers string `placeholder:"LIST" help:"Kafka's seed brokers, such as k1:9092,k2:9092 (LEAT_KAFKA_BROKERS)."`
	Sink    string `placeholder:"URL" help:"RabbitMQ (amqp://, amqps://), Redis (redis://, rediss://) or NATS (nats://, tls://), without a password (LEAT_SINK_URL may have one)."`
}

// Where returns the destination that flags and variables set.
func (f Destination) Where(d *Deps) (*settings.Sink, error) {
	if err := CheckBrokers(f.Brokers); err != nil {
		return nil, err
	}
	kafka := &settings.Sink{Kafka: &settings.KafkaSink{At: settings.Place{Path: "kafka"}}}
	url := settings.Text{Value: f.Sink, From: "--sink"}
	if f.Sink == "" {
		if f.Brokers != "" { // a flag has precedence over a variable
			return kafka, nil
		}
		url.Value, _ = d.Process.LookupEnv("LEAT_SINK_URL")
		url.From = "LEAT_SINK_URL"
	}
	if !url.Set() {
		return kafka, nil
	}
	scheme, _, _ := strings.Cut(url.Value, "://")
	var to *settings.Sink
	switch scheme {
	case "amqp", "amqps":
		to = &settings.Sink{AMQP: &settings.AMQPSink{At: settings.Place{Path: "amqp"}, URLs: []settings.Text{url}}}
	case "redis", "rediss":
		to = &settings.Sink{Redis: &settings.RedisSink{At: settings.Place{Path: "redis"}, URL: url}}
	case "nats", "tls":
		to = &settings.Sink{NATS: &settings.NATSSink{At: settings.Place{Path: "nats"}, URLs: []settings.Text{url}}}
	default:
		return nil, Usage(url.From, settings.Redact(url.Value), "must begin with amqp://, amqps://, redis://, rediss://, nats:// or tls://: webhooks need a file and leat run")
	}
	switch {
	case f.Sink != "" && (settings.HasPassword(url.Value) || to.NATS != nil && strings.Contains(url.Value, "@")): // which can be a token
		return nil, Usage(url.From, scheme+"://…", "must not have a password or token, which others could see: use LEAT_SINK_URL")
	case f.Sink != "" && f.Brokers != "":
		return nil, Usage("--brokers", f.Brokers, "is for Kafka, and --sink sends elsewhere")
	default:
		return to, nil
	}
}
