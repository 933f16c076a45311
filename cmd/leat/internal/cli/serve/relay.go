package serve

import (
	"cmp"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Relay is relay: it runs one group of one outbox, without a file.
type Relay struct {
	Group string   `default:"default" placeholder:"GROUP" help:"Relay group."`
	Start string   `placeholder:"WHERE" help:"Where a new group begins: oldest, now, or a time. Required for every new group but default."`
	Slots string   `placeholder:"N" help:"Relays that work at a time, 1 to 64. Defaults to 1."`
	Topic []string `placeholder:"PATTERN" sep:"none" help:"Topics that the group reads; repeat it. Defaults to all."`
	command.Destination
	Compression string `placeholder:"CODEC" help:"Of Kafka: none, gzip, snappy, lz4 or zstd. Defaults to none."`
	SLO         string `name:"slo" placeholder:"DURATION" help:"Age of a waiting record that raises an alarm. Defaults to 5m."`
	Retention   string `placeholder:"DURATION" help:"Maintain the log, too: how long messages are kept, or forever. Defaults to no maintenance."`
	Listen      string `placeholder:"ADDRESS" help:"Address of /livez, /readyz and /statusz, or none. Defaults to 127.0.0.1:8470."`
	Metrics     string `placeholder:"ADDRESS" help:"Address of /metrics, or none. Defaults to none."`
	LogLevel    string `placeholder:"LEVEL" help:"debug, info, warn or error. Defaults to info."`
}

// Run relays.
func (r *Relay) Run(d *command.Deps) error {
	if r.Brokers != "" {
		d.Globals.KafkaBrokers = r.Brokers
	}
	to, err := r.Where(d)
	if err != nil {
		return err
	}
	if r.Compression != "" {
		if given := map[bool]string{true: "--sink"}[r.Sink != ""]; to.Kafka == nil {
			return command.Usage("--compression", r.Compression, "is for Kafka, and "+cmp.Or(given, "LEAT_SINK_URL")+" sends elsewhere")
		}
		to.Kafka.Compression = settings.Text{Value: r.Compression, From: "--compression"}
	}
	return runDaemon(d, func() (settings.Daemon, error) { return r.daemon(d.Settings.Outbox.Value, to), nil })
}

// daemon returns the daemon that the flags describe.
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
