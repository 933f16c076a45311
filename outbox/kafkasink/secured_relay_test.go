package kafkasink_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// failures notes deliveries that have failed for a reason that a relay counts.
type failures struct {
	mu      sync.Mutex
	counted []error
}

func (f *failures) OnRelaySend(_ context.Context, e relay.SendEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range e.Results {
		if kind := outbox.KindOf(r.Err); r.Err != nil && kind != outbox.FailureOutage && kind != outbox.FailureNotSent {
			f.counted = append(f.counted, r.Err)
		}
	}
}

func (f *failures) seen() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.counted
}

// securedRelay relays messages into a secured broker.
type securedRelay struct {
	t        *testing.T
	server   *testenv.SecuredServer
	ob       *memoutbox.Outbox
	failures failures
	stop     func()
}

// runRelay runs a relay for as long as the test does.
func runRelay(t *testing.T, server *testenv.SecuredServer, log *testenv.Log, sink driver.Sink, action relay.Action) *securedRelay {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	s := &securedRelay{t: t, server: server, ob: ob}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{
		Policies:   []relay.Policy{{Action: action, Attempts: 1}}, // one counted attempt is too many
		BackoffMin: time.Millisecond, BackoffMax: 50 * time.Millisecond,
		Logger: log.Logger(), Hooks: []outbox.Hook{&s.failures},
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	s.stop = sync.OnceFunc(func() {
		stop()
		require.NoError(t, <-done)
	})
	t.Cleanup(s.stop)
	return s
}

// write enqueues a message of each topic.
func (s *securedRelay) write(topics ...string) {
	s.t.Helper()
	require.NoError(s.t, s.ob.InTx(s.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		for _, topic := range topics {
			if err := s.ob.Enqueue(ctx, tx, outbox.Message{Topic: topic, Key: "k", Payload: []byte(topic)}); err != nil {
				return err
			}
		}
		return nil
	}))
}

// requireDelivered waits until topic has n records, and requires that it gets no more.
func (s *securedRelay) requireDelivered(topic string, n int) {
	s.t.Helper()
	client, err := kgo.NewClient(append(s.server.Admin(), kgo.SeedBrokers(s.server.Brokers...), kgo.ConsumeTopics(topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(50*time.Millisecond))...)
	require.NoError(s.t, err)
	defer client.Close()
	for got, ctx := 0, within(s.t, patience); got < n; {
		fetches := client.PollFetches(ctx)
		require.NoError(s.t, fetches.Err(), "%s", topic)
		got += fetches.NumRecords()
		require.LessOrEqual(s.t, got, n)
	}
}

// requireNothingSetAside: no failure was counted, and nothing waits for an operator.
func (s *securedRelay) requireNothingSetAside() {
	s.t.Helper()
	require.Empty(s.t, s.failures.seen())
	parked, err := s.ob.Admin().Held(s.t.Context(), admin.HeldQuery{State: admin.HeldParked})
	require.NoError(s.t, err)
	require.Empty(s.t, parked)
}
