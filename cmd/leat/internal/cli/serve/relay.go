package serve

import (
	"strings"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Relay is relay: one group of one outbox, without a file.
type Relay struct {
	Group       string   `default:"default" placeholder:"GROUP" help:"Relay group."`
	Start       string   `placeholder:"WHERE" help:"Where a new group begins: oldest, now, or a time. Required for every new group but default."`
	Slots       string   `placeholder:"N" help:"Relays of the group that can work at a time, 1 to 64. Defaults to 1."`
	Topic       []string `placeholder:"PATTERN" sep:"none" help:"Topics that the group reads, * stands for any characters; repeat it. Defaults to all."`
	Brokers     string   `placeholder:"LIST" help:"Seed brokers, host:port, separated by commas (LEAT_KAFKA_BROKERS)."`
	Sink        string   `placeholder:"URL" help:"Send elsewhere than to Kafka, without a password in it (LEAT_SINK_URL, which may have one): amqp:// or amqps:// for RabbitMQ, redis:// or rediss://, nats:// or tls:// for NATS."`
	Compression string   `placeholder:"CODEC" help:"Of Kafka: none, gzip, snappy, lz4 or zstd. Defaults to none."`
	SLO         string   `name:"slo" placeholder:"DURATION" help:"Age from which a record that is not delivered raises an alarm. Defaults to 5m."`
	Retention   string   `placeholder:"DURATION" help:"Also maintain the log: keep messages so long, such as 168h, or forever. Defaults to no maintenance."`
	Listen      string   `placeholder:"ADDRESS" help:"Address of /livez, /readyz and /statusz, or none. Defaults to 127.0.0.1:8470."`
	Metrics     string   `placeholder:"ADDRESS" help:"Address of /metrics, or none. Defaults to none."`
	LogLevel    string   `placeholder:"LEVEL" help:"debug, info, warn or error. Defaults to info."`
}

// Run relays.
func (r *Relay) Run(d *command.Deps) error {
	if err := command.CheckBrokers(r.Brokers); err != nil {
		return err
	}
	if r.Brokers != "" {
		d.Globals.KafkaBrokers = r.Brokers
	}
	to, err := r.sink(d)
	if err != nil {
		return err
	}
	return runDaemon(d, func() (settings.Daemon, error) { return r.daemon(d.Settings.Outbox.Value, to), nil })
}

// sink is where the flags send to.
func (r *Relay) sink(d *command.Deps) (*settings.Sink, error) {
	url := settings.Text{Value: r.Sink, From: "--sink"}
	if r.Sink == "" {
		if r.Brokers != "" { // a flag counts before a variable
			return r.kafka(), nil
		}
		url.Value, _ = d.Process.LookupEnv("LEAT_SINK_URL")
		url.From = "LEAT_SINK_URL"
	}
	if !url.Set() {
		return r.kafka(), nil
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
		return nil, command.Usage(url.From, settings.Redact(url.Value), "must begin with amqp://, amqps://, redis://, rediss://, nats:// or tls://: webhooks need a file and leat run")
	}
	switch {
	case r.Sink != "" && (settings.HasPassword(url.Value) || to.NATS != nil && strings.Contains(url.Value, "@")): // which can be a token
		return nil, command.Usage(url.From, scheme+"://…", "must not have a password or token, which others could see: use LEAT_SINK_URL")
	case r.Sink != "" && r.Brokers != "":
		return nil, command.Usage("--brokers", r.Brokers, "is for Kafka, and --sink sends elsewhere")
	case r.Compression != "":
		return nil, command.Usage("--compression", r.Compression, "is for Kafka, and "+url.From+" sends elsewhere")
	}
	return to, nil
}

func (r *Relay) kafka() *settings.Sink {
	k := &settings.KafkaSink{At: settings.Place{Path: "kafka"}}
	if r.Compression != "" {
		k.Compression = settings.Text{Value: r.Compression, From: "--compression"}
	}
	return &settings.Sink{Kafka: k}
}

// daemon is what the flags say.
func (r *Relay) daemon(name string, to *settings.Sink) settings.Daemon {
	flag := func(name, value string) settings.Text {
		if value == "" {
			return settings.Text{}
		}
		return settings.Text{Value: value, From: name}
	}
	relay := settings.Relay{
		At: settings.Place{Path: "relay"}, Group: flag("--group", r.Group), Start: flag("--start", r.Start), Slots: flag("--slots", r.Slots), SLO: flag("--slo", r.SLO),
		Sink: to,
	}
	for _, topic := range r.Topic {
		relay.Topics = append(relay.Topics, flag("--topic", topic))
	}
	o := settings.Outbox{At: settings.Place{Path: "outbox"}, Name: flag("--outbox", name), Relays: []settings.Relay{relay}}
	if r.Retention != "" {
		o.Maintenance = &settings.OutboxMaintenance{At: settings.Place{Path: "maintenance"}, Retention: flag("--retention", r.Retention)}
	}
	return settings.Daemon{
		Outboxes: []settings.Outbox{o}, HTTP: &settings.HTTP{Listen: flag("--listen", r.Listen)},
		Metrics: &settings.Metrics{Listen: flag("--metrics", r.Metrics)}, Log: &settings.Log{Level: flag("--log-level", r.LogLevel)},
	}
}
