package relay_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// cluster is a sink that reports that some topics do not exist.
type cluster struct {
	mu      sync.Mutex
	missing map[string]bool
	got     []string
	tried   int // records of topics that are missing
	asked   int // calls of CheckTopics
}

// Send implements driver.Sink.
func (c *cluster) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	results := make([]outbox.Result, len(records))
	for i := range records {
		if c.missing[records[i].Topic] {
			c.tried++
			results[i] = outbox.Failed(outbox.FailureOutage, fmt.Errorf("no topic %s: %w", records[i].Topic, outbox.ErrTopicUnavailable))
			continue
		}
		c.got = append(c.got, string(records[i].Payload))
	}
	return results
}

func (c *cluster) create(topics ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, topic := range topics {
		delete(c.missing, topic)
	}
}

func (c *cluster) take() (got []string, tried, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	got, tried, asked = c.got, c.tried, c.asked
	c.got, c.tried, c.asked = nil, 0, 0
	return got, tried, asked
}

// asking is a cluster that answers for many topics in one call.
type asking struct{ *cluster }

// CheckTopics implements driver.TopicChecker.
func (a asking) CheckTopics(_ context.Context, topics []string) (available []string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked++
	for _, topic := range topics {
		if !a.missing[topic] {
			available = append(available, topic)
		}
	}
	return available, nil
}

// lines records the warnings and errors of a log.
type lines struct {
	slog.Handler

	mu  sync.Mutex
	all []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Level >= slog.LevelWarn {
		l.all = append(l.all, r.Message)
	}
	return nil
}

func (l *lines) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.all)
}

// TestO7_MissingTopics: a backlog has one record each of many topics that do not exist. They delay a
// message of another topic by less than a second, and cause one alarm, a few lines of the log, and one
// query at a time. S2, N2.
func TestO7_MissingTopics(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 1_000, 20_000} {
		for _, kind := range []string{"asked together", "tried one by one"} {
			if n == 20_000 && kind != "asked together" {
				continue // memoutbox is quadratic in what is due
			}
			t.Run(fmt.Sprintf("%d, %s", n, kind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { missingTopics(t, n, kind == "asked together") })
			})
		}
	}
}

// probes counts the lines that name the next probe, and those in which the probe is in the past.
type probes struct {
	slog.Handler

	mu          sync.Mutex
	named, past int
}

func (*probes) Enabled(context.Context, slog.Level) bool { return true }

func (p *probes) Handle(_ context.Context, r slog.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "next_probe" {
			p.named++
			if a.Value.Resolve().Time().Before(time.Now()) {
				p.past++
			}
		}
		return true
	})
	return nil
}

// WithAttrs implements slog.Handler.
func (p *probes) WithAttrs([]slog.Attr) slog.Handler { return p }

// TestO7_NextProbe: the next probe in State and in the log is never in the past, even for a topic that is
// checked together with others, and in a line that is written a minute late.
func TestO7_NextProbe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, log := newLab(t), &probes{}
		r, err := relay.New(l.source(), asking{withoutTopics(t, l, 2)}, relay.Config{PageSize: 1, Logger: slog.New(log)})
		require.NoError(t, err)
		stop := lead(t, r)
		for range 600 {
			elapse(t, time.Second)
			for _, out := range r.State().Out {
				require.False(t, out.NextProbe.Before(time.Now()), out.NextProbe)
			}
		}
		require.Equal(t, 2, log.named, "one at once, and one at the end of the minute")
		require.Zero(t, log.past)
		stop()
	})
}

// withoutTopics enqueues one message for each of n topics that the cluster does not have.
func withoutTopics(t *testing.T, l *lab, n int) *cluster {
	t.Helper()
	c := &cluster{missing: map[string]bool{}}
	msgs := make([]outbox.Message, n)
	for i := range msgs {
		topic := fmt.Sprintf("missing-%05d", i)
		c.missing[topic] = true
		msgs[i] = outbox.Message{Topic: topic, Key: "k", Payload: []byte(topic)}
	}
	require.NoError(t, l.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error { return l.Enqueue(ctx, tx, msgs...) }))
	return c
}

func requireUnavailable(t *testing.T, s relay.State, n int) {
	t.Helper()
	require.Equal(t, n, s.Held)
	require.Len(t, s.Out, n)
	require.True(t, s.Out[0].Unavailable)
	require.ErrorIs(t, s.Out[0].Err, outbox.ErrTopicUnavailable)
}

func missingTopics(t *testing.T, n int, together bool) {
	t.Helper()
	l, hook, log := newLab(t), &recorder{}, &lines{}
	c := withoutTopics(t, l, n)
	sink := driver.Sink(c)
	if together {
		sink = asking{c}
	}
	l.put("good", "k", "behind")
	r, err := relay.New(l.source(), sink, relay.Config{Hooks: []outbox.Hook{hook}, Logger: slog.New(log)})
	require.NoError(t, err)
	stop := lead(t, r)

	elapse(t, 999*time.Millisecond)
	got, _, _ := c.take()
	require.Equal(t, []string{"behind"}, got)
	requireUnavailable(t, r.State(), n)
	require.Equal(t, 1, hook.count(relay.AlarmUnavailable))

	elapse(t, 30*time.Second)
	c.take()
	before := log.count()
	l.put("good", "k", "later")
	elapse(t, 999*time.Millisecond)
	got, tried, asked := c.take()
	require.Equal(t, []string{"later"}, got)
	if together {
		require.Zero(t, tried, "a record of a topic that the sink can be asked about")
		require.LessOrEqual(t, asked, 2+n/10_000)
		require.Equal(t, before, log.count(), "a topic that stays unavailable is not news")
	}

	c.create("missing-00003", "missing-00005")
	elapse(t, time.Duration(1+n/10_000)*11*time.Second)
	got, _, _ = c.take()
	require.ElementsMatch(t, []string{"missing-00003", "missing-00005"}, got)
	require.Len(t, r.State().Out, n-2)
	if together {
		require.LessOrEqual(t, log.count(), 30, "%v", log.all[:min(30, len(log.all))])
		require.Equal(t, 1, hook.count(relay.AlarmUnavailable))
	}
	for _, h := range hook.copy().holds {
		require.NotContains(t, h, "park")
	}
	stop()
}

// TestO7_ManyTopicsOut: many topics are out, as far as the sink can tell, and another topic was not read
// yet. The relay finds that topic behind them. S2.
func TestO7_ManyTopicsOut(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 1_000} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			inLab(t, relay.Config{PageSize: n}, func(t *testing.T, l *lab, r *relay.Relay, _ *recorder) {
				for i := range n {
					topic := fmt.Sprintf("out-%d", i)
					l.refuse(topic, outbox.FailureOutage)
					l.put(topic, "k", topic)
				}
				l.put("good", "k", "behind")
				stop := lead(t, r)
				elapse(t, 40*time.Second) // a page each BackoffMax, and its jitter: nothing else answers
				require.Equal(t, []string{"behind"}, l.sent())
				l.put("good", "k", "later")
				elapse(t, time.Second)
				require.Equal(t, []string{"behind", "later"}, l.sent())
				stop()
			})
		})
	}
}
