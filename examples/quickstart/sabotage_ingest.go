package main

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/outbox"
)

// publishInTransaction breaks the rule that nothing is announced before it is
// committed: it publishes while the transaction can still roll back.
func publishInTransaction[Tx any](s settings) (enqueueFunc[Tx], func(), error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Brokers...), kgo.ProducerLinger(0))
	if err != nil {
		return nil, nil, err
	}
	publish := func(ctx context.Context, _ Tx, msgs ...outbox.Message) error {
		for _, m := range msgs {
			record := eventRecord(m.Topic, m.Key, m.ID, m.Payload)
			if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
				return fmt.Errorf("publish: %w", err)
			}
		}
		return nil
	}
	return publish, client.Close, nil
}

// eventRecord returns an event as leat's Kafka sink would send it.
func eventRecord(topic, key, id string, payload []byte) *kgo.Record {
	return &kgo.Record{
		Topic: topic, Key: []byte(key), Value: payload,
		Headers: []kgo.RecordHeader{
			{Key: outbox.HeaderEventID, Value: []byte(id)},
			{Key: outbox.HeaderWatermillUUID, Value: []byte(id)},
		},
	}
}
