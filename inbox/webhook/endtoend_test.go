package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// effect is what a handler has written: the n-th message of a key, from 0.
type effect struct {
	topic, key string
	n          int
}

// What is sent in each run: so many messages of each of keys, to each of topics.
const topics, keys, messages = 2, 12, 5

// ends are a producer and a consumer.
type ends struct {
	outbox  admin.Outbox
	enqueue func(t *testing.T, msgs ...outbox.Message)
	source  func(t *testing.T) driver.Source
	in      inbox.Runner
	write   func(ctx context.Context, e effect) error
	effects func(t *testing.T) []effect // in the order of their commits
}

// judge returns what is wrong with effects.
func judge(effects []effect) error {
	next := make(map[[2]string]int)
	var errs []error
	for _, e := range effects {
		at := [2]string{e.topic, e.key}
		switch want := next[at]; {
		case e.n < want:
			errs = append(errs, fmt.Errorf("twice: %v", e))
		case e.n > want:
			errs = append(errs, fmt.Errorf("out of order: %v, want %d", e, want))
		default:
			next[at]++
		}
	}
	if len(next) != topics*keys {
		errs = append(errs, fmt.Errorf("lost: %d keys of %d", topics*keys-len(next), topics*keys))
	}
	for at, n := range next {
		if n != messages {
			errs = append(errs, fmt.Errorf("lost: %v has %d effects of %d", at, n, messages))
		}
	}
	return errors.Join(errs...)
}

// endToEnd sends messages from an outbox to an inbox through faults, with relays that are
// stopped amid their work, and returns the effects.
func endToEnd(t *testing.T, e ends, receive func(h http.Handler) http.Handler) []effect {
	t.Helper()
	arrivals := make(chan struct{}, 1<<16)
	seed := rand.Uint64()
	t.Log("seed", seed)
	f := &faults{
		next: receive(handlerOf(t, e)), calls: func() { arrivals <- struct{}{} },
		dice: rand.New(rand.NewPCG(seed, 0)), count: make(map[string]int),
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	endpoints := httpsink.Static{}
	for i := range topics {
		endpoints[fmt.Sprintf("endpoint-%d", i)] = httpsink.Endpoint{URL: server.URL, Secrets: []string{standardSecret}}
	}
	enqueueAll(t, e, endpoints)
	for range 4 { // relays that end amid it all
		ctx, stop := context.WithCancel(t.Context())
		ended, r := make(chan error, 1), newRelay(t, e, endpoints)
		go func() { ended <- r.Run(ctx) }()
		for range topics * keys * messages / 8 {
			<-arrivals
		}
		stop()
		require.NoError(t, <-ended)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for left := true; left; { // RunOnce leaves what is set aside until a time that has not come
		_, err := newRelay(t, e, endpoints).RunOnce(ctx)
		require.NoError(t, err)
		held, err := e.outbox.Held(ctx, admin.HeldQuery{})
		require.NoError(t, err)
		left = len(held) > 0
	}
	server.Close() // waits for what is late
	f.mu.Lock()
	defer f.mu.Unlock()
	t.Log(f.count)
	require.Len(t, f.count, 13, "each fault has happened")
	return e.effects(t)
}

// handlerOf returns the receiver of e.
func handlerOf(t *testing.T, e ends) http.Handler {
	t.Helper()
	scheme, err := webhook.Standard(standardSecret)
	require.NoError(t, err)
	h, err := webhook.New(scheme, e.in, func(ctx context.Context, msg *message.Message) error {
		n, err := strconv.Atoi(string(msg.Payload))
		if err != nil {
			return err
		}
		return e.write(ctx, effect{topic: msg.Metadata["topic"], key: msg.Metadata[outbox.HeaderKey], n: n})
	}, webhook.Config{LeatHeaders: true, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	return h
}

// enqueueAll enqueues all messages, the n-th of all keys in one transaction.
func enqueueAll(t *testing.T, e ends, endpoints httpsink.Static) {
	t.Helper()
	for n := range messages {
		var msgs []outbox.Message
		for topic := range endpoints {
			for k := range keys {
				msgs = append(msgs, outbox.Message{
					Topic: topic, Key: fmt.Sprintf("kündin.%d", k), Payload: []byte(strconv.Itoa(n)), Headers: map[string]string{"topic": topic},
				})
			}
		}
		e.enqueue(t, msgs...)
	}
}

// newRelay returns another relay, which gives nothing up.
func newRelay(t *testing.T, e ends, endpoints httpsink.Static) *relay.Relay {
	t.Helper()
	sink, err := httpsink.New(endpoints, httpsink.Config{
		Timeout: 50 * time.Millisecond, AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = sink.Close() })
	r, err := relay.New(e.source(t), sink, relay.Config{
		BackoffMin: time.Millisecond, BackoffMax: 10 * time.Millisecond, PageSize: 100, PollMax: 10 * time.Millisecond,
		Policies: []relay.Policy{{Attempts: 1_000_000}}, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	return r
}

// inMemory are ends in memory.
func inMemory(t *testing.T) ends {
	t.Helper()
	ob, err := memoutbox.New(memoutbox.Config{})
	require.NoError(t, err)
	in, err := meminbox.New("billing", meminbox.Config{Config: receiving()})
	require.NoError(t, err)
	var mu sync.Mutex
	var effects []effect
	add := func(e effect) {
		mu.Lock()
		defer mu.Unlock()
		effects = append(effects, e)
	}
	return ends{
		outbox: ob.Admin(),
		enqueue: func(t *testing.T, msgs ...outbox.Message) {
			t.Helper()
			require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error { return ob.Enqueue(ctx, tx, msgs...) }))
		},
		source: func(*testing.T) driver.Source { return ob.Source(memoutbox.SourceConfig{}) },
		in:     in,
		write: func(ctx context.Context, e effect) error {
			if !meminbox.OnCommit(ctx, func() { add(e) }) {
				add(e)
			}
			return nil
		},
		effects: func(*testing.T) []effect {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(effects)
		},
	}
}

// receiving is for inboxes behind webhooks: the sender waits, not we.
func receiving() inbox.Config {
	return inbox.Config{BusyDelay: inbox.NoDelay, OnFailure: inbox.Policy{Delay: inbox.NoDelay}, Logger: slog.New(slog.DiscardHandler)}
}

func same(h http.Handler) http.Handler { return h }

// TestO2_O5_I1_EndToEnd: through lost answers, repeats, slow and broken endpoints and
// relays that stop, each message takes effect once, in the order of its key.
func TestO2_O5_I1_EndToEnd(t *testing.T) {
	t.Parallel()
	require.NoError(t, judge(endToEnd(t, inMemory(t), same)))
}

// TestO2_O5_I1_EndToEnd_Controls: the judge notices a receiver without an inbox, one that
// answers before it commits, and another order.
func TestO2_O5_I1_EndToEnd_Controls(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, judge([]effect{{"a", "k", 1}, {"a", "k", 0}}), "out of order")
	t.Run("no inbox", func(t *testing.T) {
		t.Parallel()
		e := inMemory(t)
		e.in = direct{}
		require.ErrorContains(t, judge(endToEnd(t, e, same)), "twice")
	})
	t.Run("answer before the commit", func(t *testing.T) {
		t.Parallel()
		e := inMemory(t)
		write, failed := e.write, sync.Map{}
		e.write = func(ctx context.Context, f effect) error { // each fails at first
			if _, again := failed.LoadOrStore(f, true); !again {
				return errors.New("not now")
			}
			return write(ctx, f)
		}
		early := func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				h.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		require.ErrorContains(t, judge(endToEnd(t, e, early)), "lost")
	})
}

// direct is what a receiver without an inbox does.
type direct struct{}

func (direct) Process(ctx context.Context, _ *message.Message, handle func(ctx context.Context) error) (inbox.Outcome, error) {
	return inbox.OutcomeCommitted, handle(ctx)
}

// TestO2_O5_I1_EndToEnd_Postgres is the same on PostgreSQL, both ends.
//
//leat:level 1
func TestO2_O5_I1_EndToEnd_Postgres(t *testing.T) {
	t.Parallel()
	db := testenv.Postgres(t)
	ctx := t.Context()
	ob, err := pgoutbox.New(db.Pool, pgoutbox.Config{Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, ob.Migrate(ctx))
	in, err := pginbox.New(db.Pool, "billing", pginbox.Config{Config: receiving()})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(ctx))
	_, err = db.Pool.Exec(ctx, `CREATE TABLE effects (no bigserial, topic text, key text, n int)`)
	require.NoError(t, err)
	e := ends{
		outbox: ob.Admin(),
		enqueue: func(t *testing.T, msgs ...outbox.Message) {
			t.Helper()
			tx, err := db.Pool.Begin(ctx)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
			require.NoError(t, ob.Enqueue(ctx, tx, msgs...))
			require.NoError(t, tx.Commit(ctx))
		},
		source: func(t *testing.T) driver.Source {
			t.Helper()
			s, err := ob.Source(pgoutbox.SourceConfig{})
			require.NoError(t, err)
			return s
		},
		in: in,
		write: func(ctx context.Context, e effect) error {
			_, err := pginbox.Tx(ctx).Exec(ctx, `INSERT INTO effects (topic, key, n) VALUES ($1, $2, $3)`, e.topic, e.key, e.n)
			return err
		},
		effects: func(t *testing.T) []effect {
			t.Helper()
			rows, err := db.Pool.Query(ctx, `SELECT topic, key, n FROM effects ORDER BY no`)
			require.NoError(t, err)
			defer rows.Close()
			var all []effect
			for rows.Next() {
				var e effect
				require.NoError(t, rows.Scan(&e.topic, &e.key, &e.n))
				all = append(all, e)
			}
			require.NoError(t, rows.Err())
			return all
		},
	}
	require.NoError(t, judge(endToEnd(t, e, same)))
}
