package chaos

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/history"
	"github.com/leat-go/leat/outbox"
)

// topics dumps the logs as readers of committed records see them.
func (d dumper) topics(ctx context.Context, st *stage) (receipts, repeats int, err error) {
	seen := map[string]struct{}{}
	for _, topic := range []string{roles.TopicTransfers, roles.TopicNotices, roles.TopicReceipts} {
		err := readTopic(ctx, st.kafka.Address, topic, func(r *kgo.Record) error {
			l, err := lineOf(r)
			if err != nil {
				return err
			}
			if topic == roles.TopicReceipts {
				receipts++
				seen[l.ID] = struct{}{}
			}
			return d.out.Write(l)
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return receipts, receipts - len(seen), d.out.End(history.Line{Of: history.Record})
}

// lineOf describes a record.
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

// readTopic visits the committed records of a topic, from the first to the last.
func readTopic(ctx context.Context, brokers, topic string, visit func(*kgo.Record) error) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(brokers), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		// The marks at the ends of transactions are read as well, to know the end.
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
	)
	if err != nil {
		return fmt.Errorf("make a kafka client: %w", err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return fmt.Errorf("ends of %s: %w", topic, err)
	}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	for len(left) > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("read %s: %w", topic, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Offset+1 >= left[r.Partition] {
				delete(left, r.Partition)
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
