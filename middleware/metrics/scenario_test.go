package metrics_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// moody is a sink that is unavailable for some calls, and never takes the message called bad.
type moody struct{ away atomic.Int64 }

// awayFor returns a sink that is unavailable for so many calls.
func awayFor(calls int64) *moody {
	s := &moody{}
	s.away.Store(calls)
	return s
}

func (s *moody) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	away := s.away.Add(-1) >= 0
	for i := range records {
		switch {
		case away:
			results[i] = outbox.Failed(outbox.FailureOutage, errors.New("away"))
		case records[i].ID == "bad":
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("no"))
		}
	}
	return results
}

// service is an outbox in memory with its relay, and what observes them.
type service struct {
	ob    *memoutbox.Outbox
	relay *relay.Relay
}

// newService makes them in the world of m, with the names main and default.
func newService(t *testing.T, m *metrics.Metrics, sink driver.Sink, cfg relay.Config) service {
	t.Helper()
	o, err := m.Outbox("main")
	require.NoError(t, err)
	hook, err := o.Relay("default")
	require.NoError(t, err)
	ob, err := memoutbox.New(memoutbox.Config{Hooks: []outbox.Hook{o}})
	require.NoError(t, err)
	cfg.Hooks, cfg.Logger = []outbox.Hook{hook}, slog.New(slog.DiscardHandler)
	r, err := relay.New(late{ob.Source(memoutbox.SourceConfig{})}, sink, cfg)
	require.NoError(t, err)
	t.Cleanup(hook.Watch(r))
	return service{ob, r}
}

// late is a source whose clock is a second behind this machine's.
type late struct{ driver.Source }

var _ driver.Clocked = late{}

// Now implements driver.Clocked.
func (late) Now(context.Context) (time.Time, error) { return time.Now().Add(-time.Second), nil }

// put enqueues messages, one a topic and id.
func (s service) put(t *testing.T, messages ...outbox.Message) {
	t.Helper()
	require.NoError(t, s.ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return s.ob.Enqueue(ctx, tx, messages...)
	}))
}

// consume runs handlers behind everything that a service can put around them: two
// deliveries of one message, one that fails, one that panics.
func consume(t *testing.T, m *metrics.Metrics) {
	t.Helper()
	consumers := m.Consumers("loyalty")
	all := []outbox.Hook{consumers}
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Hooks: all, BusyDelay: time.Millisecond}})
	require.NoError(t, err)
	scope := func(context.Context) (string, error) { return "this process", nil }
	tiers, err := twotier.New(in.Processor, twotier.Config{Scope: scope, Hooks: all})
	require.NoError(t, err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: tiers})
	require.NoError(t, err)
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	p, err := dedupe.New(store, "billing", dedupe.Config{Hooks: all})
	require.NoError(t, err)
	leased, err := middleware.NewDedupe(middleware.DedupeConfig{Processor: p})
	require.NoError(t, err)
	handle := func(msg *message.Message) ([]*message.Message, error) {
		switch msg.UUID {
		case "order-2":
			return nil, errors.New("no")
		case "order-3":
			panic("no")
		}
		return nil, nil
	}
	for _, id := range []string{"order-1", "order-1", "order-2", "order-3"} {
		for _, h := range []message.HandlerFunc{consumers.Middleware(once(handle)), leased(handle)} {
			func() {
				defer func() { _ = recover() }()
				msg := message.NewMessage(id, nil)
				msg.Metadata.Set(outbox.HeaderEventTime, time.Now().Add(-time.Minute).Format(time.RFC3339Nano))
				_, _ = h(msg)
			}()
		}
	}
}

// lead runs a relay until the test ends.
func lead(t *testing.T, r *relay.Relay) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}
