package sink

import (
	"context"
	"errors"
	"fmt"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Readback reads the messages that arrive in a topic after its first call. It returns all payloads so far,
// in an order that preserves the order of each key.
type Readback func(ctx context.Context) ([][]byte, error)

// ReadKafka reads a topic of the cluster that s names.
func ReadKafka(s settings.Kafka, topic string) (read Readback, end func(), err error) {
	options, err := Options(s)
	if err != nil {
		return nil, nil, err
	}
	options = append(options, kgo.SeedBrokers(settings.List(s.Brokers.Value)...))
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, nil, err
	}
	admin := kadm.NewClient(client)
	var from kadm.ListedOffsets
	return func(ctx context.Context) ([][]byte, error) {
		until, err := admin.ListEndOffsets(ctx, topic)
		if err = errors.Join(err, until.Error()); err != nil {
			return nil, err
		}
		if from == nil {
			from = until
			return nil, nil
		}
		return readKafka(ctx, options, from, until)
	}, client.Close, nil
}

func readKafka(ctx context.Context, options []kgo.Opt, from, until kadm.ListedOffsets) (payloads [][]byte, err error) {
	left, begin := 0, map[string]map[int32]kgo.Offset{}
	until.Each(func(end kadm.ListedOffset) {
		first, _ := from.Lookup(end.Topic, end.Partition)
		if end.Offset <= first.Offset {
			return
		}
		left++
		if begin[end.Topic] == nil {
			begin[end.Topic] = map[int32]kgo.Offset{}
		}
		begin[end.Topic][end.Partition] = kgo.NewOffset().At(first.Offset)
	})
	if left == 0 {
		return nil, nil
	}
	client, err := kgo.NewClient(append(slices.Clip(options), kgo.ConsumePartitions(begin))...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := errors.Join(fetches.Err(), ctx.Err()); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, _ := until.Lookup(r.Topic, r.Partition)
			if r.Offset < end.Offset {
				payloads = append(payloads, r.Value)
			}
			if r.Offset == end.Offset-1 {
				left--
			}
		})
	}
	return payloads, nil
}

// ReadRedis reads the stream of a topic, whose name begins with the prefix of s.
func ReadRedis(s settings.RedisSink, topic string) (read Readback, end func(), err error) {
	options, err := redisServer(s)
	if err != nil {
		return nil, nil, err
	}
	client, stream, after := redis.NewUniversalClient(options), s.Prefix.Value+topic, ""
	return func(ctx context.Context) (payloads [][]byte, err error) {
		if after == "" {
			newest, err := client.XRevRangeN(ctx, stream, "+", "-", 1).Result()
			if after = "0-0"; len(newest) > 0 {
				after = newest[0].ID
			}
			return nil, err
		}
		entries, err := client.XRange(ctx, stream, "("+after, "+").Result()
		for _, e := range entries {
			payload, _ := e.Values["payload"].(string)
			payloads = append(payloads, []byte(payload))
		}
		return payloads, err
	}, func() { _ = client.Close() }, nil
}

// notEmptyError is a queue that has messages of others.
type notEmptyError string

func (e notEmptyError) Error() string {
	return fmt.Sprintf("leat: queue %s has messages: name one that is empty, and that nobody reads", string(e))
}

// ReadAMQP takes messages from the queue with the name of the topic.
func ReadAMQP(s settings.AMQPSink, topic string) (read Readback, end func(), err error) {
	var conn *amqp.Connection
	var channel *amqp.Channel
	var payloads [][]byte
	open := func() (err error) {
		if conn, err = amqp.Dial(s.URLs[0].Value); err != nil {
			return err
		}
		if channel, err = conn.Channel(); err != nil {
			return err
		}
		queue, err := channel.QueueDeclarePassive(topic, true, false, false, false, nil)
		if err == nil && queue.Messages > 0 {
			err = notEmptyError(topic)
		}
		return err
	}
	return func(ctx context.Context) ([][]byte, error) {
			if channel == nil {
				return nil, open()
			}
			for ctx.Err() == nil {
				m, ok, err := channel.Get(topic, true)
				if err != nil || !ok {
					return payloads, err
				}
				payloads = append(payloads, m.Body)
			}
			return payloads, ctx.Err()
		}, func() {
			if conn != nil {
				_ = conn.Close()
			}
		}, nil
}
