package rival

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// arrivals observes the arrival of records in a topic.
type arrivals struct {
	brokers []string
	name    string
	admin   *kadm.Client
}

// offsets are the ends of the topic's partitions at some time.
type offsets kadm.ListedOffsets

// newArrivals makes the broker stamp the topic's records from now on with the time at which it appends
// them. The caller must close the result.
func newArrivals(ctx context.Context, brokers []string, topic string) (*arrivals, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return nil, fmt.Errorf("rival: franz-go: %w", err)
	}
	a := &arrivals{brokers: brokers, name: topic, admin: kadm.NewClient(client)}
	stamps := kadm.AlterConfig{Op: kadm.SetConfig, Name: "message.timestamp.type", Value: new("LogAppendTime")}
	altered, err := a.admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{stamps}, topic)
	if err == nil {
		_, err = altered.On(topic, func(r *kadm.AlterConfigsResponse) error { return r.Err })
	}
	if err != nil {
		a.close()
		return nil, fmt.Errorf("rival: time stamps of %s: %w", topic, err)
	}
	return a, nil
}

func (a *arrivals) close() { a.admin.Close() }

// ends returns where the partitions end.
func (a *arrivals) ends(ctx context.Context) (offsets, error) {
	listed, err := a.admin.ListEndOffsets(ctx, a.name)
	if err == nil {
		err = listed.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("rival: end of %s: %w", a.name, err)
	}
	return offsets(listed), nil
}

// beyond returns how many offsets are between from and o.
func (o offsets) beyond(from offsets) (n int64) {
	kadm.ListedOffsets(o).Each(func(end kadm.ListedOffset) {
		n += end.Offset - from[end.Topic][end.Partition].Offset
	})
	return n
}

// read reads the topic from the given offsets until it has seen the ids, in the headers that the outbox
// event router writes. It removes them from the map. It returns the time between the first and the last of
// these records by the broker's clock. Other records may be among them, since delivery is at least once.
func (a *arrivals) read(ctx context.Context, from offsets, ids map[string]struct{}) (time.Duration, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(a.brokers...),
		kgo.ConsumePartitions(kadm.ListedOffsets(from).KOffsets()))
	if err != nil {
		return 0, fmt.Errorf("rival: franz-go: %w", err)
	}
	defer client.Close()
	var first, last time.Time
	for len(ids) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return 0, fmt.Errorf("rival: %d messages are not in %s: %w", len(ids), a.name, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			id := headerOf(r, "id")
			if _, expected := ids[id]; !expected {
				return
			}
			delete(ids, id)
			if first.IsZero() || r.Timestamp.Before(first) {
				first = r.Timestamp
			}
			if r.Timestamp.After(last) {
				last = r.Timestamp
			}
		})
	}
	return last.Sub(first), nil
}

func headerOf(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}
