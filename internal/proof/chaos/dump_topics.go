package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/outbox"
)

// topics dumps the logs as readers of committed records see them.
func (d dumper) topics(ctx context.Context, st *stage) (receipts, repeats int, err error) {
	seen := map[string]time.Time{} // by receipt, the time of its first copy
	err = d.records(ctx, st, func(l history.Line, arrived time.Time) {
		if l.Topic != roles.TopicReceipts {
			return
		}
		receipts++
		if first, ok := seen[l.ID]; !ok {
			seen[l.ID] = arrived
		} else if !st.mayRepeat(first, arrived) {
			repeats++
		}
	}, roles.TopicTransfers, roles.TopicNotices, roles.TopicReceipts)
	return receipts, repeats, err
}

// records dumps the records of topics.
func (d dumper) records(ctx context.Context, st *stage, visit func(history.Line, time.Time), topics ...string) error {
	err := readTopics(ctx, st.kafka.Address, func(r *kgo.Record) error {
		l, err := lineOf(r)
		if err != nil {
			return err
		}
		visit(l, r.Timestamp)
		l.Offset += st.firstOffset(r.Topic)
		return d.out.Write(l)
	}, topics...)
	if err != nil {
		return err
	}
	return d.out.End(history.Line{Of: history.Record})
}

// lineOf returns the history's line for a record.
func lineOf(r *kgo.Record) (history.Line, error) {
	l := history.Line{
		Type: history.Record, Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Key: string(r.Key),
		Digest: roles.Digest(r.Value), At: r.Timestamp.UnixMicro(),
	}
	for _, h := range r.Headers {
		if h.Key == outbox.HeaderEventID {
			l.ID = string(h.Value)
		}
	}
	if r.Topic == roles.TopicReceipts {
		cause, err := roles.CauseOf(r.Value)
		if err != nil {
			return l, fmt.Errorf("record %d of %s: %w", r.Offset, r.Topic, err)
		}
		l.Cause = cause
	}
	return l, nil
}

// place is a partition of a topic.
type place struct {
	topic     string
	partition int32
}

// readTopics visits the committed records of topics, from the first to the last.
func readTopics(ctx context.Context, brokers string, visit func(*kgo.Record) error, topics ...string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers), kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// The markers at the ends of transactions are read as well, to recognise the end of the topic.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	)
	if err != nil {
		return fmt.Errorf("make a kafka client: %w", err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topics...)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ends of topics: %w", err)
	}
	left := map[place]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[place{o.Topic, o.Partition}] = o.Offset
		}
	})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read topics: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if at := (place{r.Topic, r.Partition}); r.Offset+1 >= left[at] {
				delete(left, at)
			}
			if err == nil && !r.Attrs.IsControl() {
				err = visit(r)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
