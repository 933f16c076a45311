package main

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// copyShare: one record in copyShare is published once more.
	copyShare = 20
	// finishTimeout bounds the remaining work of the duplicator after it is told to stop.
	finishTimeout = 20 * time.Second
)

// duplicate publishes one record in twenty of the topic a second time, unchanged: the same key,
// bytes and headers, so the same id. When ctx ends it goes on to the end that the topic has at that
// moment.
func (p *performance) duplicate(ctx context.Context) error {
	s := p.settings
	client, err := kgo.NewClient(
		kgo.SeedBrokers(s.Brokers...),
		kgo.ConsumeTopics(s.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	d := &duplicator{client: client, seen: map[string]bool{}, next: map[int32]int64{}}
	for ctx.Err() == nil {
		if err := d.round(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	ends, err := endOffsets(finish, client, s.Topic)
	if err != nil {
		return err
	}
	for d.behind(ends) {
		if err := d.round(finish); err != nil {
			return fmt.Errorf("duplicator: %w", err)
		}
	}
	return client.Flush(finish)
}

type duplicator struct {
	client *kgo.Client
	seen   map[string]bool
	next   map[int32]int64 // the offset after the last that was read
}

// round reads the available records and copies its share of them.
func (d *duplicator) round(ctx context.Context) error {
	fetches := d.client.PollFetches(ctx)
	if err := fetches.Err(); err != nil {
		return err
	}
	var copies []*kgo.Record
	fetches.EachRecord(func(r *kgo.Record) {
		d.next[r.Partition] = r.Offset + 1
		id := headerOf(r, headerID)
		if !d.seen[id] && oneIn(copyShare, id) {
			d.seen[id] = true
			copies = append(copies, &kgo.Record{
				Topic: r.Topic, Partition: r.Partition, Key: r.Key, Value: r.Value, Headers: r.Headers,
				Timestamp: r.Timestamp,
			})
		}
	})
	return d.client.ProduceSync(context.WithoutCancel(ctx), copies...).FirstErr()
}

func (d *duplicator) behind(ends map[int32]int64) bool {
	for partition, end := range ends {
		if d.next[partition] < end {
			return true
		}
	}
	return false
}
