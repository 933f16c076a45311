package assemble

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/amqpsink"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/redissink"
)

// sink opens the destination of a relay of the outbox called name. It returns nil if that fails.
func (b *builder) sink(r *settings.Relay, name string, observer *metrics.Relay) driver.Sink {
	s := r.Sink
	if s == nil {
		b.missing(r.At, "sink", "must be set: kafka, amqp, redis, nats or http")
		return nil
	}
	n := 0
	for _, set := range []bool{s.Kafka != nil, s.AMQP != nil, s.Redis != nil, s.NATS != nil, s.HTTP != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		b.missing(r.At, "sink", fmt.Sprintf("must have one of kafka, amqp, redis, nats and http ({} if all is said above), not %d", n))
		return nil
	}
	switch {
	case s.Kafka != nil:
		return b.kafka(r, name, observer)
	case s.AMQP != nil:
		return b.amqp(s.AMQP)
	case s.Redis != nil:
		return b.redis(s.Redis)
	case s.NATS != nil:
		made, err := sink.NATS(*s.NATS, b.count(s.NATS.MaxUnacked, 1), b.in.Logger)
		return opened(b, s.NATS.At, s.NATS, made, err)
	default:
		return b.webhooks(s.HTTP)
	}
}

// Sink opens the destination of r for a command that inspects it, with the settings of in. The error
// describes what is wrong with it. The returned function closes it.
func Sink(in Input, r settings.Relay) (driver.Sink, func(), error) {
	b := &builder{in: in, made: &Assembly{}}
	made := b.sink(&r, "", nil)
	if len(b.findings) > 0 {
		b.made.Close()
		return nil, nil, &settings.InvalidError{Findings: b.findings}
	}
	return made, b.made.Close, nil
}

// opened records a sink, to be closed with the Assembly.
func opened[S interface {
	driver.Sink
	io.Closer
}](b *builder, at settings.Place, section any, made S, err error,
) driver.Sink {
	if err != nil {
		b.refused(at, section, err)
		return nil
	}
	b.made.closers = append(b.made.closers, made)
	return made
}

func (b *builder) kafka(r *settings.Relay, name string, observer *metrics.Relay) driver.Sink {
	k := withConnection(r.Sink.Kafka, b.in.Settings)
	credentials, err := sink.NewCredentials(k.Kafka)
	if err != nil {
		b.refused(k.At, k, err)
		return nil
	}
	sent := sink.Sent{
		ExactlyOnce: b.yes(k.ExactlyOnce), Compression: b.oneOf(k.Compression, "none", "gzip", "snappy", "lz4", "zstd"),
		Format: b.oneOf(k.Format, "leat", "watermill"), Partitioner: b.oneOf(k.Partitioner, "", "java", "sarama"), Dial: b.in.Dial,
	}
	sent.Logger = b.in.Logger
	sent.MaxMessageBytes, sent.AllowAutoTopicCreation = int(b.size(k.MaxMessageBytes)), b.yes(k.AllowAutoTopicCreation)
	sent.PositionTopic, sent.CreatePositionTopic = k.PositionTopic.Value, b.yes(k.CreatePositionTopic)
	sent.TransactionalIDPrefix = cmp.Or(k.TransactionalIDPrefix.Value, k.PositionTopic.Value+"-")
	sent.PositionReplicas = int16(min(b.count(k.PositionReplicas, 1), 1000)) //nolint:gosec // bounded
	sent.TransactionTimeout = b.span(k.TransactionTimeout)
	if !sent.ExactlyOnce {
		for _, t := range []settings.Text{k.PositionTopic, k.TransactionalIDPrefix, k.CreatePositionTopic, k.PositionReplicas, k.TransactionTimeout} {
			if t.Set() {
				b.wrong(t, "needs exactly_once: true")
			}
		}
	}
	if observer != nil {
		sent.Hooks = []outbox.Hook{observer}
	}
	made, err := sink.Open(settings.List(k.Brokers.Value), credentials, sent)
	b.made.kafka = append(b.made.kafka, kafkaInUse{credentials, name, groupOf(r)})
	return opened(b, k.At, k, made, err)
}

// withConnection returns k, with the shared connection of s if k does not set brokers.
func withConnection(k *settings.KafkaSink, s settings.Settings) *settings.KafkaSink {
	if k.Brokers.Set() {
		return k
	}
	own := *k
	own.Kafka = s.Kafka
	return &own
}

func (b *builder) amqp(a *settings.AMQPSink) driver.Sink {
	made, err := sink.AMQP(*a, amqpsink.Config{
		Exchange: a.Exchange.Value, Queues: b.yes(a.Queues), UnroutableIsPermanent: b.yes(a.UnroutableIsPermanent), ContentType: a.ContentType.Value,
		MaxMessageBytes: int(b.size(a.MaxMessageBytes)), MaxUnconfirmed: b.count(a.MaxUnconfirmed, 1), Logger: b.in.Logger,
	})
	return opened(b, a.At, a, made, err)
}

func (b *builder) redis(r *settings.RedisSink) driver.Sink {
	acks := map[string]redissink.Ack{"synced": redissink.AckSynced, "replicas": redissink.AckReplicas, "memory": redissink.AckMemory}
	made, err := sink.Redis(*r, redissink.Config{
		Ack: acks[b.oneOf(r.Ack, "synced", "replicas", "memory")], Replicas: b.count(r.Replicas, 1), Prefix: r.Prefix.Value, ExistingOnly: b.yes(r.ExistingOnly),
		MaxLen: int64(b.count(r.MaxLen, 1)), MaxAge: b.span(r.MaxAge), MaxMessageBytes: int(b.size(r.MaxMessageBytes)), Logger: b.in.Logger,
	})
	return opened(b, r.At, r, made, err)
}

func (b *builder) webhooks(h *settings.HTTPSink) driver.Sink {
	cfg := httpsink.Config{
		Timeout: b.span(h.Timeout), MaxConcurrent: b.count(h.MaxConcurrent, 1), AllowHTTP: b.yes(h.AllowHTTP), ContentType: h.ContentType.Value, Logger: b.in.Logger,
	}
	for _, t := range h.AllowNetworks {
		prefix, err := netip.ParsePrefix(t.Value)
		if err != nil {
			b.wrong(t, fmt.Sprintf("%q: must be a network such as 10.1.0.0/16", t.Value))
		}
		cfg.AllowNetworks = append(cfg.AllowNetworks, prefix)
	}
	if h.Proxy.Set() {
		proxy, err := url.Parse(h.Proxy.Value)
		if err != nil {
			b.wrong(h.Proxy, "must be a URL")
		}
		cfg.Proxy = proxy
	}
	if len(h.Endpoints) == 0 {
		b.missing(h.At, "endpoints", "there is none")
		return nil
	}
	endpoints := httpsink.Static{}
	for topic, e := range h.Endpoints {
		header := http.Header{}
		for name, value := range e.Header {
			header.Set(name, value.Value)
		}
		endpoints[topic] = httpsink.Endpoint{
			URL: e.URL.Value, Secrets: texts(e.Secrets), Off: b.yes(e.Off), Header: header, StandardOnly: b.yes(e.StandardOnly),
			Concurrency: b.count(e.Concurrency, 1), Rate: b.rate(e.Rate),
		}
	}
	made, err := httpsink.New(endpoints, cfg)
	return opened(b, h.At, h, made, err)
}
