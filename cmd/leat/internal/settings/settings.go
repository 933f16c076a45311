package settings

import "strings"

// Settings are the settings of the file, of the environment and of flags. An empty field is not set.
type Settings struct {
	// Database is the URL of the database, or its keywords and values.
	Database Text `yaml:"database" doc:"URL of the database, such as postgres://leat@db/shop, mysql://leat@db/shop, mariadb://leat@db/shop or sqlite:/var/lib/shop.db. Of PostgreSQL, PG* variables, service and password files count, too."`
	// Schema, Outbox, Inbox and Dedupe name the tables.
	Schema Text `yaml:"schema" doc:"Schema of the tables, on PostgreSQL alone. Defaults to leat."`
	Outbox Text `yaml:"outbox" doc:"Name of the outbox. Defaults to outbox, on MySQL, MariaDB and SQLite to leat_outbox."`
	Inbox  Text `yaml:"inbox" doc:"Name of the inbox. Defaults to inbox, on MySQL, MariaDB and SQLite to leat_inbox."`
	Dedupe Text `yaml:"dedupe" doc:"Name of the table of dedupe. Defaults to dedupe, on MySQL, MariaDB and SQLite to leat_dedupe."`
	// Forwarder is the topic of Watermill's forwarder whose table is the outbox.
	Forwarder Text `yaml:"forwarder" doc:"Topic of Watermill's forwarder, if its table is the outbox. Its schema defaults to public."`
	// Actor is the name of the person or program that makes a change.
	Actor Text `yaml:"actor" doc:"Who asks for changes. Defaults to user@host."`
	// Output, Time and Color are the form of results.
	Output Text `yaml:"output" doc:"Form of results: table, json or jsonl. Defaults to table."`
	Time   Text `yaml:"time" doc:"Times in tables: relative, utc or local. Defaults to relative."`
	Color  Text `yaml:"color" doc:"Colours in tables: auto, always or never. Defaults to auto."`
	// Registry and Keys are used to decode payloads for operators.
	Registry Text `yaml:"registry" doc:"URL of the schema registry by which payloads are shown, such as http://registry:8081. Defaults to none."`
	Keys     Text `yaml:"keys" doc:"Directory of keys by which sealed payloads are shown: a file is called like its key and has 16, 24 or 32 bytes of AES-GCM in base64. Defaults to none."`
	// Kafka is the destination of a replay.
	Kafka Kafka `yaml:"kafka" doc:"The cluster that a replay sends to."`
}

// Kafka are the connection settings of a cluster.
type Kafka struct {
	// Brokers are host:port, separated by commas.
	Brokers Text `yaml:"brokers" doc:"Seed brokers, such as k1:9092,k2:9092."`
	// TLS encrypts connections if it is "true".
	TLS Text `yaml:"tls" doc:"true: encrypt connections. Defaults to false."`
	// CAFile has the certificates, in PEM, that the brokers' certificates are checked against.
	CAFile Text `yaml:"ca_file" doc:"CA certificates, PEM. Defaults to the system's."`
	// CertFile and KeyFile are the certificate and the key of the client.
	CertFile Text `yaml:"cert_file" doc:"Client certificate, PEM."`
	KeyFile  Text `yaml:"key_file" doc:"Its key, PEM."`
	// SASL is plain, scram-sha-256 or scram-sha-512.
	SASL     Text `yaml:"sasl" doc:"Mechanism: plain, scram-sha-256 or scram-sha-512. Defaults to none."`
	User     Text `yaml:"user" doc:"User of SASL."`
	Password Text `yaml:"password" doc:"Password of SASL: ${env:NAME} or ${file:PATH}."`
}

// Or returns s with missing settings taken from other.
func (s Settings) Or(other Settings) Settings {
	texts, others := fields(&s), fields(&other)
	for i, field := range texts {
		if !field.text.Set() {
			*field.text = *others[i].text
		}
	}
	return s
}

// field is a text with its name in the file.
type field struct {
	name string
	text *Text
}

// fields returns all texts of s.
func fields(s *Settings) []field {
	return []field{
		{"database", &s.Database},
		{"schema", &s.Schema},
		{"outbox", &s.Outbox},
		{"inbox", &s.Inbox},
		{"dedupe", &s.Dedupe},
		{"forwarder", &s.Forwarder},
		{"actor", &s.Actor},
		{"output", &s.Output},
		{"time", &s.Time},
		{"color", &s.Color},
		{"registry", &s.Registry},
		{"keys", &s.Keys},
		{"kafka.brokers", &s.Kafka.Brokers},
		{"kafka.tls", &s.Kafka.TLS},
		{"kafka.ca_file", &s.Kafka.CAFile},
		{"kafka.cert_file", &s.Kafka.CertFile},
		{"kafka.key_file", &s.Kafka.KeyFile},
		{"kafka.sasl", &s.Kafka.SASL},
		{"kafka.user", &s.Kafka.User},
		{"kafka.password", &s.Kafka.Password},
	}
}

// List splits a text at commas.
func List(text string) []string {
	var all []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}
