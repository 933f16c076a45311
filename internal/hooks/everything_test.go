package hooks_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/inbox/pgwatermark"
	"github.com/leat-go/leat/inbox/twotier"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// moody is a sink that is unavailable at first, and never takes the message called bad.
type moody struct{ calls int }

func (m *moody) Send(_ context.Context, records []outbox.Record) []outbox.Result {
	m.calls++
	results := make([]outbox.Result, len(records))
	for i := range records {
		switch {
		case m.calls == 1:
			results[i] = outbox.Failed(outbox.FailureOutage, errors.New("away"))
		case records[i].ID == "bad":
			results[i] = outbox.Failed(outbox.FailurePermanent, errors.New("no"))
		}
	}
	return results
}

// TestEverything_Relay: one hook sees an outbox and its relay.
func TestEverything_Relay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		all := []outbox.Hook{c}
		ob, err := memoutbox.New(memoutbox.Config{Hooks: all})
		require.NoError(t, err)
		require.NoError(t, ob.InTx(t.Context(), func(ctx context.Context, tx *memoutbox.Tx) error {
			return ob.Enqueue(ctx, tx,
				outbox.Message{ID: "good", Topic: "orders", Key: "a"}, outbox.Message{ID: "bad", Topic: "orders", Key: "b"})
		}))
		r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), &moody{}, relay.Config{Hooks: all})
		require.NoError(t, err)
		_, err = r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, []string{
			"outbox.AlarmEvent", "outbox.EnqueueEvent", "relay.BreakerEvent", "relay.ErrorEvent", "relay.HoldEvent",
			"relay.LeaseEvent", "relay.ProgressEvent", "relay.ReadEvent", "relay.SendEvent",
		}, c.kinds())
	})
}

// TestEverything_Inbox: the same hook sees an inbox with what stands around it, and a
// deduplicator.
func TestEverything_Inbox(t *testing.T) {
	t.Parallel()
	c := &collector{}
	all := []outbox.Hook{c}
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Hooks: all}})
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
	done := func(*message.Message) ([]*message.Message, error) { return nil, nil }
	for _, h := range []message.HandlerFunc{once(done), leased(done)} {
		_, err := h(message.NewMessage("order-1", nil))
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"dedupe.DeliveryEvent", "inbox.DeliveryEvent", "twotier.LookEvent",
	}, c.kinds())
}

// TestEverything_Kafka: the same hook sees a sink and a subscriber, on an in-process
// cluster.
func TestEverything_Kafka(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := &collector{}
	all := []outbox.Hook{c}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
	require.NoError(t, err)
	defer cluster.Close()
	sink, err := kafkasink.New(cluster.ListenAddrs(), kafkasink.Config{Hooks: all})
	require.NoError(t, err)
	defer sink.Close()
	record := []outbox.Record{{Seq: 1, CreatedAt: time.Now(), Message: outbox.Message{ID: "order-1", Topic: "orders", Payload: []byte("paid")}}}
	fault := cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "orders", Err: kerr.NotEnoughReplicas, Count: -1})
	short, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	require.Error(t, sink.Send(short, record)[0].Err)
	stop()
	fault.Remove()
	require.NoError(t, sink.Send(ctx, record)[0].Err)

	sub, err := kafkasource.NewSubscriber(cluster.ListenAddrs(), "loyalty", kafkasource.Config{Hooks: all})
	require.NoError(t, err)
	msgs, err := sub.Subscribe(ctx, "orders")
	require.NoError(t, err)
	msg, ok := <-msgs
	require.True(t, ok)
	msg.Ack()
	require.NoError(t, sub.Close())
	require.Equal(t, []string{"driver.ReplaceEvent", "driver.SourceEvent"}, c.kinds())
}

// TestEverything_Postgres: the same hook is taken by all that works on PostgreSQL, and what
// is none of a package's hooks by none. Their own tests see the events.
func TestEverything_Postgres(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none") // it does not connect
	require.NoError(t, err)
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	for name, build := range map[string]func(hooks []outbox.Hook) error{
		"pgoutbox": func(hooks []outbox.Hook) error {
			_, err := pgoutbox.New(pool, pgoutbox.Config{Hooks: hooks})
			return err
		},
		"maintenance of pgoutbox": func(hooks []outbox.Hook) error {
			_, err := pgoutbox.NewMaintenance(ob, pgoutbox.MaintenanceConfig{Hooks: hooks})
			return err
		},
		"tail of pgoutbox": func(hooks []outbox.Hook) error {
			_, err := ob.Source(pgoutbox.SourceConfig{Tail: &pgoutbox.TailConfig{Hooks: hooks}})
			return err
		},
		"pginbox": func(hooks []outbox.Hook) error {
			_, err := pginbox.New(pool, "loyalty", pginbox.Config{Config: inbox.Config{Hooks: hooks}})
			return err
		},
		"maintenance of pginbox": func(hooks []outbox.Hook) error {
			_, err := pginbox.NewMaintenance(pool, pginbox.Config{}, pginbox.MaintenanceConfig{Hooks: hooks})
			return err
		},
		"pgwatermark": func(hooks []outbox.Hook) error {
			_, err := pgwatermark.New(pool, "loyalty", []string{"orders"}, pgwatermark.Config{Config: inbox.Config{Hooks: hooks}})
			return err
		},
	} {
		require.NoError(t, build([]outbox.Hook{&collector{}}), name)
		err := build([]outbox.Hook{&collector{}, both{}})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig, name)
		require.ErrorContains(t, err, "Hooks[1] = hooks_test.both: implements no hook interface of package", name)
	}
}

// TestEverything_Webhooks: both ends of a webhook, and an endpoint that has gone.
func TestEverything_Webhooks(t *testing.T) {
	t.Parallel()
	c := &collector{}
	all := []outbox.Hook{c}
	secret := httpsink.NewSecret()
	scheme, err := webhook.Standard(secret)
	require.NoError(t, err)
	in, err := meminbox.New("billing", meminbox.Config{})
	require.NoError(t, err)
	h, err := webhook.New(scheme, in, func(context.Context, *message.Message) error { return nil }, webhook.Config{Hooks: all})
	require.NoError(t, err)
	server := httptest.NewServer(h)
	defer server.Close()
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer gone.Close()
	sink, err := httpsink.New(httpsink.Static{
		"good": {URL: server.URL, Secrets: []string{secret}}, "gone": {URL: gone.URL, Secrets: []string{secret}},
	}, httpsink.Config{AllowHTTP: true, AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Hooks: all})
	require.NoError(t, err)
	defer func() { require.NoError(t, sink.Close()) }()
	results := sink.Send(t.Context(), []outbox.Record{{Message: outbox.Message{ID: "1", Topic: "good"}}, {Message: outbox.Message{ID: "2", Topic: "gone"}}})
	require.NoError(t, results[0].Err)
	require.ErrorIs(t, results[1].Err, httpsink.ErrOff)
	require.Equal(t, []string{"httpsink.GoneEvent", "httpsink.RequestEvent", "webhook.RequestEvent"}, c.kinds())
}
