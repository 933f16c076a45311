package diagnose

import (
	"context"
	"errors"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/sink"
)

// kafka returns the cluster, nil if Kafka is not configured.
func (c *Doctor) kafka(d *command.Deps) (sink.Closer, error) {
	at, err := d.Kafka(c.Brokers)
	if _, ok := errors.AsType[*settings.InvalidError](err); ok {
		return sink.Unreached{Err: err}, nil
	}
	if err != nil || !at.Brokers.Set() {
		return nil, err
	}
	return sink.Kafka(at, d.Logger)
}

func (c *Doctor) usesOf(db open.Database) func(ctx context.Context) ([]sink.Use, error) {
	return func(ctx context.Context) ([]sink.Use, error) { return c.uses(ctx, db) }
}

// uses are the topics that the database or flags name.
func (c *Doctor) uses(ctx context.Context, db open.Database) ([]sink.Use, error) {
	var all []sink.Use
	places := map[string]int{}
	use := func(topic string) *sink.Use {
		if _, ok := places[topic]; !ok {
			places[topic] = len(all)
			all = append(all, sink.Use{Topic: topic})
		}
		return &all[places[topic]]
	}
	if lister, ok := db.(open.TopicLister); ok {
		topics, err := lister.Topics(ctx)
		if err != nil {
			return nil, err
		}
		for _, t := range topics {
			u := use(t.Topic)
			u.Bytes, u.Late = t.Bytes, t.Late
		}
		partitions, err := lister.Partitions(ctx)
		if err != nil {
			return nil, err
		}
		for topic, n := range partitions {
			use(topic).Partitions = n
		}
	}
	for _, topic := range c.Topic {
		use(topic)
	}
	for _, topic := range c.PositionsTopic {
		use(topic).Positions = true
	}
	return all, nil
}
