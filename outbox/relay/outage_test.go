package relay_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// ledger is a source that records each stored list of outages.
type ledger struct {
	memorySource

	mu     sync.Mutex
	stored [][]driver.Outage
}

// accountant is a session of memoutbox that adds to its ledger.
type accountant struct {
	sessionOfMemory

	ledger *ledger
}

type sessionOfMemory interface {
	driver.Holder
	driver.OutageKeeper
}

func (l *ledger) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := l.memorySource.Acquire(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return &accountant{s.(sessionOfMemory), l}, nil //nolint:forcetypeassert // a test
}

func (a *accountant) KeepOutages(ctx context.Context, all []driver.Outage) error {
	a.ledger.mu.Lock()
	a.ledger.stored = append(a.ledger.stored, slices.Clone(all))
	a.ledger.mu.Unlock()
	return a.sessionOfMemory.KeepOutages(ctx, all)
}

func (l *ledger) topics() [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([][]string, len(l.stored))
	for i, stored := range l.stored {
		for _, o := range stored {
			all[i] = append(all[i], o.Topic)
		}
	}
	return all
}

// TestOutages_StoredOnChange: a relay whose destinations are available stores nothing. If a topic is out
// for hours, the outage is stored once, and once more when it has ended.
func TestOutages_StoredOnChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		source := &ledger{memorySource: l.source()}
		r, err := relay.New(source, l, relay.Config{BackoffMin: time.Second, BackoffMax: 10 * time.Second, PollMax: time.Second})
		require.NoError(t, err)
		stop := lead(t, r)
		for i := range 100 {
			l.put("a", strconv.Itoa(i), strconv.Itoa(i))
			elapse(t, time.Second)
		}
		require.Empty(t, source.topics(), "all is well")
		l.refuse("b", outbox.FailureOutage)
		l.put("b", "k", "b")
		for i := range 100 {
			l.put("a", strconv.Itoa(i), strconv.Itoa(i))
			elapse(t, time.Minute)
		}
		require.Equal(t, [][]string{{"b"}}, source.topics())
		stats, err := l.Admin().Stats(t.Context())
		require.NoError(t, err)
		require.Len(t, stats.Groups[0].Out, 1)
		out := stats.Groups[0].Out[0]
		require.Equal(t, "outage", out.Cause)
		require.Equal(t, errBroker.Error(), out.Error)
		require.Equal(t, 1, out.Waiting)
		require.Greater(t, time.Since(out.Since), time.Hour)
		l.allow("b")
		elapse(t, time.Minute)
		require.Equal(t, [][]string{{"b"}, nil}, source.topics())
		stop()
	})
}

// TestOutages_FollowTheCause: the stored outage has its latest error. It is written when the error
// changes, but not if only a number in its text changes.
func TestOutages_FollowTheCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		source := &ledger{memorySource: l.source()}
		r, err := relay.New(source, l, relay.Config{PollMax: time.Second})
		require.NoError(t, err)
		l.refuse("b", outbox.FailureOutage)
		port := func(n int) { l.because(fmt.Errorf("dial 10.0.0.1:%d: %w", n, errBroker)) }
		port(0) // before the first call
		l.put("b", "k", "b")
		stop := lead(t, r)
		began := time.Now()
		for n := range 10 {
			port(n)
			elapse(t, time.Minute)
		}
		require.Equal(t, [][]string{{"b"}}, source.topics())
		l.because(errAway)
		elapse(t, time.Minute)
		require.Equal(t, [][]string{{"b"}, {"b"}}, source.topics())
		stats, err := l.Admin().Stats(t.Context())
		require.NoError(t, err)
		out := stats.Groups[0].Out[0]
		require.Equal(t, errAway.Error(), out.Error)
		require.WithinDuration(t, began, out.Since, time.Minute)
		stop()
	})
}

// TestOutages_Bounded: of topics that a producer invents, at most a hundred are stored.
func TestOutages_Bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		source := &ledger{memorySource: l.source()}
		r, err := relay.New(source, l, relay.Config{PollMax: time.Second})
		require.NoError(t, err)
		for i := range 150 {
			topic := "t" + strconv.Itoa(i)
			l.refuse(topic, outbox.FailureOutage)
			l.put(topic, "k", topic)
		}
		stop := lead(t, r)
		elapse(t, time.Minute)
		last := latest(source.topics())
		require.Len(t, last, 101)
		require.Empty(t, latest(last))
		stats, err := l.Admin().Stats(t.Context())
		require.NoError(t, err)
		require.Contains(t, stats.Groups[0].Out[0].Error, "50 more topics are out")
		stop()
	})
}
