package pgwatermark_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/inbox/pgwatermark"
)

// member is a member of a consumer group that delivers the messages of a partition
// one at a time and asks the inbox where to read on. It commits no offset to the
// broker.
type member struct {
	w       *pgwatermark.Inbox
	admin   *kadm.Client
	client  *kgo.Client
	process func(ctx context.Context, p driver.Position) (inbox.Outcome, error)

	mu     sync.Mutex
	source string
	prev   map[int32]int64 // the offset delivered last
}

// newMember joins group.
func newMember(
	brokers []string, group, topic string, w *pgwatermark.Inbox,
	process func(ctx context.Context, p driver.Position) (inbox.Outcome, error), opts ...kgo.Opt,
) (*member, error) {
	admin, err := kgo.NewClient(kgo.SeedBrokers(brokers...))
	if err != nil {
		return nil, err
	}
	m := &member{w: w, admin: kadm.NewClient(admin), process: process, prev: map[int32]int64{}}
	m.client, err = kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(brokers...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.DisableAutoCommit(), kgo.AdjustFetchOffsetsFn(m.assigned), kgo.BlockRebalanceOnPoll(),
		kgo.FetchMaxWait(100 * time.Millisecond), kgo.HeartbeatInterval(200 * time.Millisecond),
		kgo.SessionTimeout(10 * time.Second), kgo.RebalanceTimeout(10 * time.Second),
	}, opts...)...)
	if err != nil {
		m.admin.Close()
		return nil, err
	}
	return m, nil
}

// close leaves the group, as a process that is killed does not.
func (m *member) close() {
	m.client.Close()
	m.admin.Close()
}

// assigned takes the offsets that the group has committed and returns those at
// which to read.
func (m *member) assigned(ctx context.Context, committed map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	var parts []driver.Assignment
	for topic, offsets := range committed {
		of, err := assignments(ctx, m.admin, topic)
		if err != nil {
			return nil, err
		}
		for partition, offset := range offsets {
			a := of[partition]
			if from := offset.EpochOffset().Offset; from >= 0 {
				a.From = from
			}
			parts = append(parts, a)
		}
	}
	next, err := m.w.Assigned(ctx, parts)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, p := range parts {
		committed[p.Topic][p.Partition] = kgo.NewOffset().At(next[i])
		m.source, m.prev[p.Partition] = p.Source, next[i]-1
	}
	return committed, nil
}

// assignments asks the broker for the partitions of topic, to be read from their
// starts.
func assignments(ctx context.Context, admin *kadm.Client, topic string) (map[int32]driver.Assignment, error) {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return nil, err
	}
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(topics.Error(), starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	all := map[int32]driver.Assignment{}
	for partition := range topics[topic].Partitions {
		start, _ := starts.Lookup(topic, partition)
		end, _ := ends.Lookup(topic, partition)
		all[partition] = driver.Assignment{
			Source: uuid.UUID(topics[topic].ID).String(), Topic: topic, Partition: partition,
			Start: start.Offset, End: end.Offset, From: start.Offset,
		}
	}
	return all, nil
}

// run delivers until ctx ends or a message cannot be processed: the session is
// over then. Partitions do not wait for each other, and the group waits for no
// handler.
func (m *member) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel(nil)
	queues := map[int32]chan driver.Position{}
	for {
		fetches := m.client.PollRecords(ctx, 10)
		positions := m.positions(fetches)
		m.client.AllowRebalance()
		if ctx.Err() != nil {
			return sessionError(ctx)
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, p := range positions {
			if queues[p.Partition] == nil {
				queue := make(chan driver.Position, 1000) // more than any test has
				queues[p.Partition] = queue
				workers.Go(func() { cancel(m.work(ctx, queue)) })
			}
			select {
			case queues[p.Partition] <- p:
			case <-ctx.Done():
			}
		}
	}
}

// sessionError is why a session has ended, nil if it was told to.
func sessionError(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

// work delivers the messages of one partition.
func (m *member) work(ctx context.Context, queue <-chan driver.Position) error {
	for {
		select {
		case p := <-queue:
			if err := m.deliver(ctx, p); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// positions is called while the group cannot be rebalanced.
func (m *member) positions(fetches kgo.Fetches) (all []driver.Position) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fetches.EachRecord(func(r *kgo.Record) {
		all = append(all, driver.Position{
			Source: m.source, Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Prev: m.prev[r.Partition], Serial: true,
		})
		m.prev[r.Partition] = r.Offset
	})
	return all
}

// deliver delivers a message until it is acked.
func (m *member) deliver(ctx context.Context, p driver.Position) error {
	for {
		_, err := m.process(ctx, p)
		switch {
		case err == nil, ctx.Err() != nil:
			return nil //nolint:nilerr // this is how it ends
		case errors.Is(err, errOnPurpose), errors.Is(err, inbox.ErrBusy):
		default:
			return err
		}
	}
}
