package settings

// Sink is where a relay sends to: one of its fields is set.
type Sink struct {
	At    Place      `yaml:"-"`
	Kafka *KafkaSink `yaml:"kafka" doc:"Kafka."`
	AMQP  *AMQPSink  `yaml:"amqp" doc:"RabbitMQ."`
	HTTP  *HTTPSink  `yaml:"http" doc:"Webhooks."`
}

// KafkaSink sends to Kafka. If it names no brokers, all of its connection is that of kafka
// above, so that no password goes to another cluster.
type KafkaSink struct {
	At                     Place `yaml:"-"`
	Kafka                  `yaml:",inline"`
	ExactlyOnce            Text `yaml:"exactly_once" doc:"true: positions are kept in Kafka, in the transactions of the records. Defaults to false."`
	PositionTopic          Text `yaml:"position_topic" doc:"Topic of the positions, one a relay group and cluster of databases. Required with exactly_once."`
	TransactionalIDPrefix  Text `yaml:"transactional_id_prefix" doc:"Begin of the transactional ids, which nobody else may use. Defaults to position_topic and a hyphen."`
	CreatePositionTopic    Text `yaml:"create_position_topic" doc:"true: create the topic of the positions. Defaults to false."`
	PositionReplicas       Text `yaml:"position_replicas" doc:"Replicas of that topic. Defaults to the cluster's default."`
	TransactionTimeout     Text `yaml:"transaction_timeout" doc:"How long Kafka keeps a transaction open whose relay has died, 10s to 40s. Defaults to 15s."`
	Compression            Text `yaml:"compression" doc:"none, gzip, snappy, lz4 or zstd. Defaults to none."`
	Format                 Text `yaml:"format" doc:"leat or watermill. Defaults to leat."`
	Partitioner            Text `yaml:"partitioner" doc:"java or sarama. Defaults to that of the format: java for leat, sarama for watermill."`
	MaxMessageBytes        Text `yaml:"max_message_bytes" doc:"Bound of a batch. Defaults to the topic's."`
	AllowAutoTopicCreation Text `yaml:"allow_auto_topic_creation" doc:"true: let the cluster create topics that are missing. Defaults to false."`
}

// AMQPSink sends to RabbitMQ.
type AMQPSink struct {
	At                    Place  `yaml:"-"`
	URLs                  []Text `yaml:"urls" doc:"URLs of the brokers, such as amqp://leat:${env:RABBITMQ_PASSWORD}@rabbit/shop. Required."`
	Exchange              Text   `yaml:"exchange" doc:"Exchange of all topics. Defaults to the one that is called like the topic."`
	Queues                Text   `yaml:"queues" doc:"true: send to the queue that is called like the topic. Defaults to false."`
	UnroutableIsPermanent Text   `yaml:"unroutable_is_permanent" doc:"true: a record that no queue takes is parked. Defaults to false: it waits."`
	ContentType           Text   `yaml:"content_type" doc:"Type of messages without a header content-type. Defaults to none."`
	MaxMessageBytes       Text   `yaml:"max_message_bytes" doc:"Bound of a message. Defaults to RabbitMQ's, 16 MiB."`
	MaxUnconfirmed        Text   `yaml:"max_unconfirmed" doc:"Records under way at a time, 1 to 10000. Defaults to 1000."`
	CAFile                Text   `yaml:"ca_file" doc:"File of the certificates that brokers are checked by, PEM. Defaults to the system's."`
	CertFile              Text   `yaml:"cert_file" doc:"File of the client's certificate, PEM."`
	KeyFile               Text   `yaml:"key_file" doc:"File of the client's key, PEM."`
}

// HTTPSink sends webhooks.
type HTTPSink struct {
	At            Place               `yaml:"-"`
	Endpoints     map[string]Endpoint `yaml:"endpoints" doc:"Endpoints, by the topics that are sent to them. Required."`
	Timeout       Text                `yaml:"timeout" doc:"Bound of one request. Defaults to 15s; publish_timeout ends it sooner."`
	MaxConcurrent Text                `yaml:"max_concurrent" doc:"Requests at a time, 1 to 10000. Defaults to 256."`
	AllowHTTP     Text                `yaml:"allow_http" doc:"true: allow URLs that begin with http://. Defaults to false."`
	AllowNetworks []Text              `yaml:"allow_networks" doc:"Private networks that may be connected to, such as 10.1.0.0/16. Defaults to none."`
	Proxy         Text                `yaml:"proxy" doc:"Proxy of all connections. Defaults to none."`
	ContentType   Text                `yaml:"content_type" doc:"Type of messages without a header content-type. Defaults to application/json."`
}

// Endpoint is a receiver of webhooks.
type Endpoint struct {
	At           Place           `yaml:"-"`
	URL          Text            `yaml:"url" doc:"Address. Required."`
	Secrets      []Text          `yaml:"secrets" doc:"Secrets that sign, whsec_…: ${env:NAME} or ${file:PATH}. Required."`
	Header       map[string]Text `yaml:"header" doc:"Headers that are sent with each request."`
	Off          Text            `yaml:"off" doc:"true: its records fail for good. Defaults to false."`
	StandardOnly Text            `yaml:"standard_only" doc:"true: send no header of the message. Defaults to false."`
	Concurrency  Text            `yaml:"concurrency" doc:"Requests at a time, 1 to 64. Defaults to 8."`
	Rate         Text            `yaml:"rate" doc:"Requests a second at most. Defaults to no bound."`
}
