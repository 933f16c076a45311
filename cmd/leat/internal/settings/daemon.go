package settings

import (
	"cmp"
	"slices"
)

// Profile are the settings of a file, either for all profiles or for one.
type Profile struct {
	Settings `yaml:",inline"`
	Daemon   `yaml:",inline"`
}

// Daemon is the configuration of leat run. A section of a profile replaces the general one as a whole.
type Daemon struct {
	// Outboxes are relayed and maintained, Inboxes are maintained.
	Outboxes []Outbox      `yaml:"outboxes" doc:"Outboxes to relay and maintain."`
	Inboxes  []InboxTables `yaml:"inboxes" doc:"Inboxes to maintain and measure."`
	// Connections is the most connections to one server.
	Connections Text `yaml:"connections" doc:"Most connections to one database server. Defaults to half of its max_connections."`
	// HTTP is the listener of the probes, Metrics that of Prometheus.
	HTTP    *HTTP    `yaml:"http" doc:"Probes, status and dashboard."`
	Metrics *Metrics `yaml:"metrics" doc:"Listener of /metrics."`
	// OTLP is the collector of spans.
	OTLP *OTLP `yaml:"otlp" doc:"OpenTelemetry collector of spans. Defaults to none."`
	// Log is the configuration of the process's log.
	Log *Log `yaml:"log" doc:"Log on standard error."`

	path string
}

// Outbox is an outbox of the daemon.
type Outbox struct {
	At               Place              `yaml:"-"`
	Name             Text               `yaml:"name" doc:"Unique name in metrics and status. Required."`
	Database         Text               `yaml:"database" doc:"Its URL. Defaults to database above."`
	Schema           Text               `yaml:"schema" doc:"Its schema. Defaults to schema above."`
	Table            Text               `yaml:"table" doc:"Its log. Defaults to outbox above."`
	Forwarder        Text               `yaml:"forwarder" doc:"Topic of Watermill's forwarder, if its table is the outbox: without slots, topics and maintenance, by default in schema public."`
	AllowAsyncCommit Text               `yaml:"allow_async_commit" doc:"true: allow commits that are not on disk: a crash may undo what was sent. Defaults to false."`
	Expect           *Expect            `yaml:"expect" doc:"Where the outbox must be: relays on a copy elsewhere refuse to start."`
	Relays           []Relay            `yaml:"relays" doc:"Relays, one a group."`
	Maintenance      *OutboxMaintenance `yaml:"maintenance" doc:"Shortens the log and sends delayed messages. Without it, another process must."`
}

// Expect is the server and database that an outbox must be in.
type Expect struct {
	At       Place `yaml:"-"`
	Host     Text  `yaml:"host" doc:"Host of the connection (PostgreSQL), the server's name (MySQL, MariaDB), the machine's (SQLite). Defaults to any."`
	Database Text  `yaml:"database" doc:"Name of the database, or path of SQLite's file. Defaults to any."`
	Instance Text  `yaml:"instance" doc:"system_identifier (PostgreSQL), server_uuid (MySQL), server_uid (MariaDB). Defaults to any."`
}

// Relay is a relay of a group.
type Relay struct {
	At             Place    `yaml:"-"`
	Group          Text     `yaml:"group" doc:"Relay group. Defaults to default."`
	Start          Text     `yaml:"start" doc:"Where a new group begins: oldest, now, or a time. Required for every new group but default."`
	Slots          Text     `yaml:"slots" doc:"Relays that work at a time, 1 to 64. Defaults to 1."`
	Topics         []Text   `yaml:"topics" doc:"Patterns of topics to read. Defaults to all."`
	NoListen       Text     `yaml:"no_listen" doc:"true: poll only, with one connection less. Defaults to false."`
	Order          Text     `yaml:"order" doc:"key, or total: one record after the other. Defaults to key."`
	AllowedTopics  []Text   `yaml:"allowed_topics" doc:"Patterns of topics to send to; policies decide about others. Defaults to all."`
	Policies       []Policy `yaml:"policies" doc:"What happens to undeliverable records; the first match counts. Defaults to park after 10 attempts."`
	SLO            Text     `yaml:"slo" doc:"Age of a waiting record that raises an alarm, and fails /livez if the relay is stuck. Defaults to 5m."`
	PageSize       Text     `yaml:"page_size" doc:"Most records of a page. Defaults to 5000."`
	PageBytes      Text     `yaml:"page_bytes" doc:"Size of a page. Defaults to 2.5 MiB."`
	ReadAhead      Text     `yaml:"read_ahead" doc:"Pages to read while one is sent, 0 to 64. Defaults to 1."`
	Lease          Text     `yaml:"lease" doc:"Time until others take over. Defaults to 15s."`
	PublishTimeout Text     `yaml:"publish_timeout" doc:"Bound of one call of the sink. Defaults to 5s."`
	LeaseMargin    Text     `yaml:"lease_margin" doc:"Part of a lease kept for clocks of other speed. Defaults to 1s."`
	PollMax        Text     `yaml:"poll_max" doc:"Longest wait between two reads. Defaults to 1s."`
	BackoffMax     Text     `yaml:"backoff_max" doc:"Longest wait after failures. Defaults to 5s."`
	DrainTimeout   Text     `yaml:"drain_timeout" doc:"How long it may take to end. Defaults to 10s."`
	MaxHeld        Text     `yaml:"max_held" doc:"Records that a slot may set aside. Defaults to 100000."`
	AdoptPosition  Text     `yaml:"adopt_position" doc:"true, once: exactly_once begins where the group stands. Defaults to false."`
	Tail           *Tail    `yaml:"tail" doc:"Find messages by logical replication, too; {} is enough. Defaults to none."`
	Sink           *Sink    `yaml:"sink" doc:"Destination: one of kafka, amqp, redis, nats and http. Required."`
}

// Tail is the tail of a relay.
type Tail struct {
	At          Place `yaml:"-"`
	Publication Text  `yaml:"publication" doc:"Publication of the log. Defaults to leat."`
	URL         Text  `yaml:"url" doc:"URL of the same database, of a role with REPLICATION. Defaults to that of the outbox."`
	Look        Text  `yaml:"look" doc:"Time between two looks into the log, 10ms to 1m. Defaults to 1s."`
	MaxLag      Text  `yaml:"max_lag" doc:"Delay from which the tail is dropped for a while, 10ms to 1m. Defaults to 2s."`
	MaxRows     Text  `yaml:"max_rows" doc:"Waiting messages from which the tail is dropped for a while, 100 to 100000. Defaults to 10000."`
}

// Policy is a policy of a relay.
type Policy struct {
	At       Place `yaml:"-"`
	Topics   Text  `yaml:"topics" doc:"Pattern of topics. Defaults to all."`
	Action   Text  `yaml:"action" doc:"park, block, dead_letter or skip. Defaults to park."`
	Attempts Text  `yaml:"attempts" doc:"Failed deliveries before the action is taken. Defaults to 10."`
}

// OutboxMaintenance is the maintenance of an outbox.
type OutboxMaintenance struct {
	At            Place    `yaml:"-"`
	Interval      Text     `yaml:"interval" doc:"Time between two rounds. Defaults to 1m."`
	Lease         Text     `yaml:"lease" doc:"Time until others take over. Defaults to 30s."`
	Retention     Text     `yaml:"retention" doc:"How long messages are kept, or forever. Defaults to 7d."`
	MaxBytes      Text     `yaml:"max_bytes" doc:"Bound of the log, such as 20GiB. Defaults to none."`
	PartitionSize Text     `yaml:"partition_size" doc:"Sequence numbers of a new range. Defaults to 10000000."`
	Ahead         Text     `yaml:"ahead" doc:"Empty ranges kept ahead, 1 to 100. Defaults to 2."`
	NoDDL         Text     `yaml:"no_ddl" doc:"true: delete in chunks instead of dropping ranges. Defaults to false."`
	KeepAudit     Text     `yaml:"keep_audit" doc:"How long the audit is kept. Defaults to forever."`
	KeepDead      Text     `yaml:"keep_dead" doc:"How long dead records are kept. Defaults to forever."`
	Archive       *Archive `yaml:"archive" doc:"Where messages are written before they go. Defaults to nowhere."`
}

// Archive is where messages are stored before they are deleted.
type Archive struct {
	At  Place `yaml:"-"`
	Dir Text  `yaml:"dir" doc:"Directory for gzipped files of JSON lines. Required."`
}

// InboxTables are the tables of an inbox, for all of its consumers.
type InboxTables struct {
	At        Place `yaml:"-"`
	Name      Text  `yaml:"name" doc:"Name in metrics and status. Defaults to its table."`
	Database  Text  `yaml:"database" doc:"Its URL. Defaults to database above."`
	Schema    Text  `yaml:"schema" doc:"Its schema. Defaults to schema above."`
	Table     Text  `yaml:"table" doc:"Name of the inbox. Defaults to inbox above."`
	Retention Text  `yaml:"retention" doc:"How long ids are remembered, once retention is enabled. Defaults to no maintenance."`
	Width     Text  `yaml:"width" doc:"Time that a range covers. Defaults to 24h."`
	Ahead     Text  `yaml:"ahead" doc:"Ranges kept ahead, 1 to 100. Defaults to 3."`
	KeepOther Text  `yaml:"keep_other" doc:"The same for ids that are not of version 7. Defaults to forever."`
	KeepAudit Text  `yaml:"keep_audit" doc:"How long the audit is kept. Defaults to forever."`
	NoDDL     Text  `yaml:"no_ddl" doc:"true: delete in chunks instead of dropping ranges. Defaults to false."`
	Interval  Text  `yaml:"interval" doc:"Time between two rounds. Defaults to 1m."`
}

// HTTP is a listener.
type HTTP struct {
	At       Place `yaml:"-"`
	Listen   Text  `yaml:"listen" doc:"Address of /livez, /readyz and /statusz, host:port, or none. Defaults to 127.0.0.1:8470."`
	CertFile Text  `yaml:"cert_file" doc:"Certificate for HTTPS, PEM."`
	KeyFile  Text  `yaml:"key_file" doc:"Its key, PEM."`
	// Hosts are names of this server.
	Hosts []Text `yaml:"hosts" doc:"Further names, without a port, by which /statusz and /metrics answer; * is any. Defaults to none."`
	// Dashboard is served on the same listener.
	Dashboard *Dashboard `yaml:"dashboard" doc:"Dashboard and API; {} shows them to everybody on this machine. Defaults to none."`
}

// Metrics is the configuration of the daemon's metrics.
type Metrics struct {
	At       Place  `yaml:"-"`
	Listen   Text   `yaml:"listen" doc:"Address of /metrics, host:port, or none. Defaults to none."`
	Interval Text   `yaml:"interval" doc:"Time between two samples of lag and backlog, 1s or more. Defaults to 15s."`
	Topics   []Text `yaml:"topics" doc:"Topics whose counters are shown from the start. Defaults to none."`
}

// OTLP is a collector.
type OTLP struct {
	At       Place `yaml:"-"`
	Endpoint Text  `yaml:"endpoint" doc:"URL of the collector, such as http://127.0.0.1:4318; /v1/traces is added. Required."`
}

// Log is the configuration of the daemon's log.
type Log struct {
	At     Place `yaml:"-"`
	Level  Text  `yaml:"level" doc:"debug, info, warn or error. Defaults to info."`
	Format Text  `yaml:"format" doc:"text or json. Defaults to text."`
}

// Or returns d with missing sections taken from other.
func (d Daemon) Or(other Daemon) Daemon {
	if d.Outboxes == nil {
		d.Outboxes = other.Outboxes
	}
	if d.Inboxes == nil {
		d.Inboxes = other.Inboxes
	}
	if !d.Connections.Set() {
		d.Connections = other.Connections
	}
	d.HTTP, d.Metrics = cmp.Or(d.HTTP, other.HTTP), cmp.Or(d.Metrics, other.Metrics)
	d.OTLP, d.Log = cmp.Or(d.OTLP, other.OTLP), cmp.Or(d.Log, other.Log)
	return d
}

// ExactlyOnce reports whether the relay's sink stores positions itself.
func (r *Relay) ExactlyOnce() bool {
	return r.Sink != nil && r.Sink.Kafka != nil && r.Sink.Kafka.ExactlyOnce.Value == "true"
}

// NeedsDatabase reports whether an outbox or inbox lacks a database of its own.
func (d Daemon) NeedsDatabase() bool {
	return slices.ContainsFunc(d.Outboxes, func(o Outbox) bool { return !o.Database.Set() }) ||
		slices.ContainsFunc(d.Inboxes, func(i InboxTables) bool { return !i.Database.Set() })
}
