package benchmarks

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// latencies measures segments of a steady load on one topic.
type latencies struct {
	db     *testenv.Database
	broker *testenv.KafkaEnv
	topic  string
	size   latencySize
	own    *pgoutbox.Outbox // the relay's
}

// latencySize is how much a latency benchmark does: messages a second, the length
// of a segment and of a warm-up before the first, rounds of all segments.
type latencySize struct {
	rate    int
	segment time.Duration
	rounds  int
}

// segment is one run of the load. Times are nanoseconds since began; 0: not yet.
// See design 19.3.
type segment struct {
	began     time.Time
	rate      int
	committed []atomic.Int64
	acked     []atomic.Int64
	left      atomic.Int64
	done      chan struct{}
}

var _ relay.SendHook = (*segment)(nil)

func newSegment(size latencySize) *segment {
	n := int((size.segment + settleFor).Seconds() * float64(size.rate))
	s := &segment{
		rate: size.rate, committed: make([]atomic.Int64, n), acked: make([]atomic.Int64, n), done: make(chan struct{}),
	}
	s.left.Store(int64(n))
	return s
}

// due is when message i is to be enqueued.
func (s *segment) due(i int) time.Duration {
	return time.Duration(i) * time.Second / time.Duration(s.rate)
}

// OnRelaySend notes when the sink's answer is there.
func (s *segment) OnRelaySend(_ context.Context, e relay.SendEvent) {
	now := int64(time.Since(s.began))
	for i := range e.Records {
		if e.Results[i].Err == nil {
			s.arrived(int(binary.BigEndian.Uint64(e.Records[i].Payload)), now)
		}
	}
}

// arrived notes when message i was in Kafka, the first time that it is told.
func (s *segment) arrived(i int, now int64) {
	if s.acked[i].CompareAndSwap(0, now) && s.left.Add(-1) == 0 {
		close(s.done)
	}
}

// arrive notes that the message with this payload is where it is to be.
func (s *segment) arrive(payload []byte) {
	s.arrived(int(binary.BigEndian.Uint64(payload)), int64(time.Since(s.began)))
}

// measure relays what writer is given at the rate.
func (l *latencies) measure(b *testing.B, writer *pgoutbox.Outbox) (percentiles, error) {
	b.Helper()
	s := newSegment(l.size)
	if err := l.carry(b.Context(), s, writer, s); err != nil {
		return percentiles{}, err
	}
	return s.percentiles(), nil
}

// carry relays a segment that writer is given, until all of it has arrived. All
// segments are of one relay group, which has nothing left when a segment ends.
func (l *latencies) carry(ctx context.Context, s *segment, writer *pgoutbox.Outbox, hooks ...outbox.Hook) error {
	r, sink, err := openRelay(l.own, l.broker.Brokers, "latency", relay.Config{Hooks: hooks})
	if err != nil {
		return err
	}
	defer func() { _ = sink.Close() }() // it always returns nil
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	s.began = time.Now()
	go func() { ended <- r.Run(ctx) }()
	err = s.produce(ctx, commitTo(writer, l.topic))
	if err == nil {
		err = s.wait(ended)
	}
	stop()
	return errors.Join(err, <-ended)
}

// wait waits until all messages have arrived. Ended tells that what carries them has
// stopped, and is told so again.
func (s *segment) wait(ended chan error) error {
	select {
	case <-s.done:
		return nil
	case end := <-ended:
		ended <- end
		return errors.New("what carries the messages has ended")
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%d messages were not delivered", s.left.Load())
	}
}

// produce has one message a transaction committed, each at its time or as soon after it
// as one of many clients is free. A payload begins with the number of its message.
func (s *segment) produce(ctx context.Context, commit commitOne) error {
	const clients = 16
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, clients)
	for client := range clients {
		group.Go(func() {
			payload := make([]byte, 512)
			timer := time.NewTimer(0)
			defer timer.Stop()
			for errs[client] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(s.committed) {
					return
				}
				timer.Reset(s.due(i) - time.Since(s.began))
				<-timer.C
				binary.BigEndian.PutUint64(payload, uint64(i))
				errs[client] = commit(ctx, fmt.Sprintf("key-%d", i%1000), payload)
				s.committed[i].Store(int64(time.Since(s.began)))
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// percentiles leaves out what was due while the relay was still starting.
func (s *segment) percentiles() percentiles {
	whole, commit := s.times()
	return percentiles{whole: percentilesOf(whole), commit: percentilesOf(commit)}
}

// times are those of the percentiles, in milliseconds.
func (s *segment) times() (whole, commit []float64) {
	for i := range s.acked {
		due := s.due(i)
		acked := time.Duration(s.acked[i].Load())
		if due < settleFor || acked == 0 {
			continue
		}
		whole = append(whole, millis(acked-due))
		// What is measured can be faster than the answer to the commit.
		commit = append(commit, millis(max(acked-time.Duration(s.committed[i].Load()), 0)))
	}
	return whole, commit
}

func millis(d time.Duration) float64 {
	return float64(d) / float64(time.Millisecond)
}
