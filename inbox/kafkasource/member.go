package kafkasource

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/jitter"
)

// pollRecords bounds one poll, so that a partition is paused in time.
const pollRecords = 500

// leaveTimeout bounds the time that a stopping member takes to leave the group.
const leaveTimeout = 5 * time.Second

// member is one membership in the group, on one client. Once lost it cannot be resumed: the next
// membership has a client of its own.
type member struct {
	*subscription

	parent context.Context //nolint:containedctx // of the contexts of its assignments
	ready  chan struct{}   // closed when client is set
	client *kgo.Client
	pulse  pulse
	name   atomic.Pointer[string] // member id in the group

	// committing is held while offsets are committed. A partition leaves
	// assignments under it, so that none is committed after it was given up.
	committing sync.Mutex

	doubts *doubts // nil without Config.Marks

	mu          sync.Mutex
	assignments map[int32]*assignment
	closed      bool // takes no more assignments

	gaveUp  chan struct{} // closed at the first giveUp
	giveUp  func(err error)
	because error // why, once gaveUp is closed

	rereading   chan struct{} // closed at the first reread
	rereadOnce  sync.Once
	rereadCause error // once rereading is closed
}

// member joins the group and serves what it is assigned until the subscription
// ends, which is nil, or the membership does.
func (s *subscription) member(ctx context.Context) error {
	// The end of ctx begins a drain; it must end neither handlers nor the last commit.
	own := context.WithoutCancel(ctx)
	m := &member{
		subscription: s,
		parent:       own,
		ready:        make(chan struct{}),
		pulse:        pulse{born: time.Now()},
		assignments:  make(map[int32]*assignment),
		gaveUp:       make(chan struct{}),
		rereading:    make(chan struct{}),
	}
	m.pulse.synced = m.sameMember
	if m.cfg.Marks != nil {
		m.doubts = newDoubts()
	}
	var once sync.Once
	m.giveUp = func(err error) {
		once.Do(func() {
			m.because = err
			close(m.gaveUp)
		})
	}
	clientCtx, kill := context.WithCancel(own)
	defer kill()
	client, err := kgo.NewClient(append(m.options(), kgo.WithContext(clientCtx))...)
	if err != nil {
		return err
	}
	m.client = client
	close(m.ready)
	err = m.run(own, ctx.Done())
	m.leave(kill, err)
	if err == nil && m.rereads() {
		return m.rereadCause
	}
	return err
}

// run serves until stop or closing is closed, which is nil, or the membership is
// lost.
func (m *member) run(ctx context.Context, stop <-chan struct{}) (err error) {
	polling, stopPolling := context.WithCancel(ctx)
	defer stopPolling()
	commits, stopCommits := context.WithCancel(ctx)
	defer stopCommits()
	stopWatch := make(chan struct{})
	var loops, watch sync.WaitGroup
	loops.Go(func() { m.poll(polling) })
	loops.Go(func() { m.watchTopic(polling) })
	loops.Go(func() { m.checkLoop(polling) })
	if m.cfg.NoGroup {
		loops.Go(func() { m.takeAll(polling) })
	} else {
		loops.Go(func() { m.commitLoop(commits, polling) })
		watch.Go(func() { m.watch(stopWatch) })
	}
	select {
	case <-stop:
	case <-m.closing:
	case <-m.rereading:
		if !errors.Is(m.rereadCause, driver.ErrMarksMoved) { // the marks report it better
			m.rewind(ctx)
		}
	case <-m.gaveUp:
		err = m.because
		stopCommits()
		m.loseAll(ctx, err)
	}
	stopPolling()
	loops.Wait()
	m.stop(ctx, err)
	close(stopWatch)
	watch.Wait()
	return err
}

// poll passes fetched records to the assignments.
func (m *member) poll(ctx context.Context) {
	for m.remains(ctx) {
		fetches := m.client.PollRecords(ctx, pollRecords)
		failed := false
		fetches.EachError(func(topic string, partition int32, err error) {
			failed = true
			m.fetchError(ctx, topic, partition, err)
		})
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			if len(p.Records) == 0 {
				return
			}
			m.mu.Lock()
			a := m.assignments[p.Partition]
			m.mu.Unlock()
			if a != nil && !a.push(p.Records) {
				m.giveUp(errTopicReplaced)
			}
		})
		m.client.AllowRebalance()
		if failed { // since some errors repeat at once
			pause(ctx, jitter.Around(rejoinDelay, 0.25), m.gaveUp)
		}
	}
}

// remains reports whether the membership continues.
func (m *member) remains(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-m.gaveUp:
		return false
	default:
		return true
	}
}

// fetchError logs an error after which the client retries by itself.
func (m *member) fetchError(ctx context.Context, topic string, partition int32, err error) {
	if errors.Is(err, context.Canceled) || errors.Is(err, kgo.ErrClientClosed) {
		return
	}
	if errors.Is(err, kerr.UnknownTopicID) {
		m.giveUp(errTopicReplaced) // this client will not read the new topic
		return
	}
	if m.unread(partition, err) {
		m.giveUp(fmt.Errorf("%w: the group has assigned partition %d, which this client does not read: %w",
			ErrSessionLost, partition, m.needs(err)))
		return
	}
	m.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "kafka fetch failed",
		slog.String("consumer_group", m.group), slog.String("topic", topic),
		slog.Int("partition", int(partition)), slog.Any("error", m.needs(err)))
}

// unread reports whether err means that the client skips an assigned partition for as long as the
// assignment lasts, because the group's offset was refused to it, as without the right to read
// the topic. No member would read the partition.
func (m *member) unread(partition int32, err error) bool {
	refused, ok := errors.AsType[*kerr.Error](err)
	return ok && !refused.Retriable && !m.cfg.NoGroup && partition >= 0 && len(m.some([]int32{partition})) == 0
}

// parts returns the assignments.
func (m *member) parts() []*assignment {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sorted(m.assignments)
}

// stop ends all assignments. After an err they were lost: nothing is committed.
func (m *member) stop(ctx context.Context, err error) {
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	if err != nil {
		m.loseAll(ctx, err)
		return
	}
	m.release(ctx, m.parts(), errClosed)
}

// leave closes the client, which leaves the group. After an err that is not possible, and leave
// does not wait for it.
func (m *member) leave(kill func(), err error) {
	if err != nil {
		kill()
	}
	late := time.AfterFunc(leaveTimeout, kill)
	defer late.Stop()
	m.client.CloseAllowingRebalance()
}
