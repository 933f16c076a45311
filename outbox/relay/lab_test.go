package relay_test

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// lab is an outbox in memory with a sink that refuses the payloads and topics that a test sets.
type lab struct {
	*memoutbox.Outbox

	t *testing.T

	mu      sync.Mutex
	refused map[string]outbox.FailureKind
	why     error    // of what is refused, nil for errBroker
	got     []string // payloads that were acknowledged
	tried   [][]string
	at      []time.Time // of the calls
	took    time.Duration
}

func newLab(t *testing.T) *lab {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	return &lab{Outbox: ob, t: t, refused: map[string]outbox.FailureKind{}}
}

// put commits records of a topic and key.
func (l *lab) put(topic, key string, payloads ...string) {
	l.t.Helper()
	require.NoError(l.t, l.InTx(l.t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
		msgs := make([]outbox.Message, len(payloads))
		for i, p := range payloads {
			msgs[i] = outbox.Message{Topic: topic, Key: key, Payload: []byte(p)}
		}
		return l.Enqueue(ctx, tx, msgs...)
	}))
}

// refuse makes the sink refuse a payload or a topic.
func (l *lab) refuse(what string, kind outbox.FailureKind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused[what] = kind
}

// because sets the error with which the sink refuses from now on.
func (l *lab) because(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.why = why
}

// allow makes the sink accept a payload or a topic again.
func (l *lab) allow(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refused, what)
}

// Send implements driver.Sink.
func (l *lab) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	results := make([]outbox.Result, len(records))
	if err := wait.For(ctx, l.took); err != nil {
		for i := range results {
			results[i] = outbox.Failed(outbox.FailureOutage, err)
		}
		return results
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	stopped := map[driver.Key]bool{}
	var tried []string
	for i := range records {
		r := &records[i]
		tried = append(tried, string(r.Payload))
		key := driver.Key{Topic: r.Topic, Key: r.Key}
		kind, refused := l.refused[string(r.Payload)]
		if !refused {
			kind, refused = l.refused[r.Topic]
		}
		switch {
		case stopped[key]:
			results[i] = outbox.NotSent()
		case refused:
			results[i] = outbox.Failed(kind, cmp.Or(l.why, errBroker))
			stopped[key] = r.Key != ""
		default:
			l.got = append(l.got, string(r.Payload))
		}
	}
	l.tried = append(l.tried, tried)
	l.at = append(l.at, time.Now())
	return results
}

// sent returns the payloads that were acknowledged.
func (l *lab) sent() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.got...)
}

// times returns the times of the calls.
func (l *lab) times() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]time.Time(nil), l.at...)
}

// latest returns the last element of all.
func latest[T any](all []T) T {
	return all[len(all)-1]
}

// calls returns the payloads of each call, from the n-th on.
func (l *lab) calls(n int) [][]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([][]string(nil), l.tried[n:]...)
}

// memorySource contains all methods of a source of memoutbox.
type memorySource interface {
	driver.Sharded
	driver.Pausable
	slog.LogValuer
}

func (l *lab) source() memorySource { return l.sourceOf(memoutbox.SourceConfig{}) }

func (l *lab) sourceOf(cfg memoutbox.SourceConfig) memorySource {
	return l.Source(cfg).(memorySource) //nolint:forcetypeassert // it is
}

// parked returns the payloads that are parked, or wait behind one that is parked.
func (l *lab) parked() []string {
	l.t.Helper()
	all, err := l.Admin().Held(l.t.Context(), admin.HeldQuery{State: admin.HeldParked, Limit: 10_000})
	require.NoError(l.t, err)
	var payloads []string
	for _, a := range all {
		payloads = append(payloads, string(a.Payload))
	}
	return payloads
}

// redrive redrives a key of topic "t".
func (l *lab) redrive(key string) {
	l.t.Helper()
	_, err := l.Admin().Redrive(l.t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "t", Key: key}})
	require.NoError(l.t, err)
}

// drop drops a key of topic "t".
func (l *lab) drop(key string) {
	l.t.Helper()
	_, err := l.Admin().Drop(l.t.Context(), admin.ChangeRequest{By: operator(), Selection: admin.Selection{Topic: "t", Key: key}})
	require.NoError(l.t, err)
}

func operator() admin.By {
	return admin.By{Actor: "ann", Reason: "test"}
}

// inLab runs a test in virtual time with a relay on a lab.
func inLab(t *testing.T, cfg relay.Config, test func(t *testing.T, l *lab, r *relay.Relay, hook *recorder)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l, hook := newLab(t), &recorder{}
		cfg.Hooks = append(cfg.Hooks, hook)
		r, err := relay.New(l.source(), l, cfg)
		require.NoError(t, err)
		test(t, l, r, hook)
	})
}

// lead runs r until the returned function stops it.
func lead(t *testing.T, r *relay.Relay) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-done)
	}
}
