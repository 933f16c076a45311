package settings

// Sink is the destination of a relay: one of its fields is set.
type Sink struct {
	At    Place      `yaml:"-"`
	Kafka *KafkaSink `yaml:"kafka" doc:"Kafka."`
	AMQP  *AMQPSink  `yaml:"amqp" doc:"RabbitMQ."`
	Redis *RedisSink `yaml:"redis" doc:"Redis Streams."`
	NATS  *NATSSink  `yaml:"nats" doc:"NATS JetStream."`
	HTTP  *HTTPSink  `yaml:"http" doc:"Webhooks."`
}

// Kind is the product name, "" if none is set.
func (s *Sink) Kind() string {
	switch {
	case s == nil:
		return ""
	case s.Kafka != nil:
		return "Kafka"
	case s.AMQP != nil:
		return "RabbitMQ"
	case s.Redis != nil:
		return "Redis"
	case s.NATS != nil:
		return "NATS"
	case s.HTTP != nil:
		return "webhooks"
	default:
		return ""
	}
}

// KafkaSink sends to Kafka. If it does not set brokers, the whole connection is that of the section kafka,
// so that a password is not sent to another cluster.
type KafkaSink struct {
	At                     Place `yaml:"-"`
	Kafka                  `yaml:",inline"`
	ExactlyOnce            Text `yaml:"exactly_once" doc:"true: keep positions in Kafka, in the records' transactions. Defaults to false."`
	PositionTopic          Text `yaml:"position_topic" doc:"Topic of the positions, one a group and database cluster. Required with exactly_once."`
	TransactionalIDPrefix  Text `yaml:"transactional_id_prefix" doc:"Unique prefix of transactional ids. Defaults to position_topic and a hyphen."`
	CreatePositionTopic    Text `yaml:"create_position_topic" doc:"true: create that topic. Defaults to false."`
	PositionReplicas       Text `yaml:"position_replicas" doc:"Replicas of that topic. Defaults to the cluster's default."`
	TransactionTimeout     Text `yaml:"transaction_timeout" doc:"How long Kafka keeps a dead relay's transaction open, 10s to 40s. Defaults to 15s."`
	Compression            Text `yaml:"compression" doc:"none, gzip, snappy, lz4 or zstd. Defaults to none."`
	Format                 Text `yaml:"format" doc:"leat or watermill. Defaults to leat."`
	Partitioner            Text `yaml:"partitioner" doc:"java or sarama. Defaults to java, for format watermill to sarama."`
	MaxMessageBytes        Text `yaml:"max_message_bytes" doc:"Bound of a batch. Defaults to the topic's."`
	AllowAutoTopicCreation Text `yaml:"allow_auto_topic_creation" doc:"true: let the cluster create missing topics. Defaults to false."`
}

// AMQPSink sends to RabbitMQ.
type AMQPSink struct {
	At                    Place  `yaml:"-"`
	URLs                  []Text `yaml:"urls" doc:"URLs, such as amqp://leat:${env:PASSWORD}@rabbit/shop. Required."`
	Exchange              Text   `yaml:"exchange" doc:"Exchange of all topics. Defaults to the one named like the topic."`
	Queues                Text   `yaml:"queues" doc:"true: send to the queue named like the topic. Defaults to false."`
	UnroutableIsPermanent Text   `yaml:"unroutable_is_permanent" doc:"true: a record that no queue takes is parked. Defaults to false: it waits."`
	ContentType           Text   `yaml:"content_type" doc:"Type of messages without a header content-type. Defaults to none."`
	MaxMessageBytes       Text   `yaml:"max_message_bytes" doc:"Bound of a message. Defaults to RabbitMQ's, 16 MiB."`
	MaxUnconfirmed        Text   `yaml:"max_unconfirmed" doc:"Records under way at a time, 1 to 10000. Defaults to 1000."`
	CAFile                Text   `yaml:"ca_file" doc:"CA certificates, PEM. Defaults to the system's."`
	CertFile              Text   `yaml:"cert_file" doc:"Client certificate, PEM."`
	KeyFile               Text   `yaml:"key_file" doc:"Its key, PEM."`
}

// RedisSink sends to Redis Streams.
type RedisSink struct {
	At               Place  `yaml:"-"`
	URL              Text   `yaml:"url" doc:"URL, such as redis://leat:${env:PASSWORD}@redis:6379/0; with TLS rediss://. Required."`
	Sentinels        []Text `yaml:"sentinels" doc:"Sentinels, host:port; the host of url is then the primary's name. Defaults to none."`
	SentinelPassword Text   `yaml:"sentinel_password" doc:"Their password: ${env:NAME} or ${file:PATH}. Defaults to none."`
	Ack              Text   `yaml:"ack" doc:"Where a delivered record is: synced (on disk), replicas or memory. Defaults to synced."`
	Replicas         Text   `yaml:"replicas" doc:"Replicas that ack: replicas waits for, 1 to 100."`
	Prefix           Text   `yaml:"prefix" doc:"Prefix of a stream's key, such as shop:. Defaults to none."`
	ExistingOnly     Text   `yaml:"existing_only" doc:"true: create no streams; messages of a missing one wait. Defaults to false."`
	MaxLen           Text   `yaml:"max_len" doc:"Entries to which a stream is trimmed, about, read or not. Defaults to no trimming."`
	MaxAge           Text   `yaml:"max_age" doc:"Age from which entries are trimmed, about, read or not, 1s or more. Defaults to no trimming."`
	MaxMessageBytes  Text   `yaml:"max_message_bytes" doc:"Bound of an entry with headers. Defaults to the server's, 512 MiB."`
	CAFile           Text   `yaml:"ca_file" doc:"CA certificates, PEM. Defaults to the system's."`
	CertFile         Text   `yaml:"cert_file" doc:"Client certificate, PEM."`
	KeyFile          Text   `yaml:"key_file" doc:"Its key, PEM."`
}

// NATSSink sends to NATS JetStream.
type NATSSink struct {
	At              Place  `yaml:"-"`
	URLs            []Text `yaml:"urls" doc:"URLs, such as nats://leat:${env:PASSWORD}@nats:4222; with TLS tls://. Required."`
	CredentialsFile Text   `yaml:"credentials_file" doc:"File with the user's token and seed, read for each connection. Defaults to none."`
	MaxUnacked      Text   `yaml:"max_unacked" doc:"Records under way at a time, 1 to 10000. Defaults to 256."`
	CAFile          Text   `yaml:"ca_file" doc:"CA certificates, PEM. Defaults to the system's."`
	CertFile        Text   `yaml:"cert_file" doc:"Client certificate, PEM."`
	KeyFile         Text   `yaml:"key_file" doc:"Its key, PEM."`
}

// HTTPSink sends webhooks.
type HTTPSink struct {
	At            Place               `yaml:"-"`
	Endpoints     map[string]Endpoint `yaml:"endpoints" doc:"Endpoints by topic. Required."`
	Timeout       Text                `yaml:"timeout" doc:"Bound of one request. Defaults to 15s; publish_timeout ends it sooner."`
	MaxConcurrent Text                `yaml:"max_concurrent" doc:"Requests at a time, 1 to 10000. Defaults to 256."`
	AllowHTTP     Text                `yaml:"allow_http" doc:"true: allow URLs that begin with http://. Defaults to false."`
	AllowNetworks []Text              `yaml:"allow_networks" doc:"Allowed private networks, such as 10.1.0.0/16. Defaults to none."`
	Proxy         Text                `yaml:"proxy" doc:"Proxy of all connections. Defaults to none."`
	ContentType   Text                `yaml:"content_type" doc:"Type of messages without a header content-type. Defaults to application/json."`
}

// Endpoint is a receiver of webhooks.
type Endpoint struct {
	At           Place           `yaml:"-"`
	URL          Text            `yaml:"url" doc:"Address. Required."`
	Secrets      []Text          `yaml:"secrets" doc:"Secrets that sign, whsec_…: ${env:NAME} or ${file:PATH}. Required."`
	Header       map[string]Text `yaml:"header" doc:"Headers of each request."`
	Off          Text            `yaml:"off" doc:"true: its records fail for good. Defaults to false."`
	StandardOnly Text            `yaml:"standard_only" doc:"true: send no header of the message. Defaults to false."`
	Concurrency  Text            `yaml:"concurrency" doc:"Requests at a time, 1 to 64. Defaults to 8."`
	Rate         Text            `yaml:"rate" doc:"Requests a second at most. Defaults to no bound."`
}
