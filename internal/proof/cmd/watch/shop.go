package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/inbox"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// shop is the watched system: an outbox, a relay into handlers behind an inbox, and the daemon that
// runs and shows them.
type shop struct {
	ob     *pgoutbox.Outbox
	in     *pginbox.Inbox
	pool   *pgxpool.Pool
	daemon *daemon.Daemon
	broken atomic.Bool // the consumer refuses brokenTopic

	metrics     *metrics.Metrics
	maintenance *metrics.Maintenance
}

const name = "shop" // name of outbox and inbox

func newShop(ctx context.Context, pool *pgxpool.Pool) (*shop, error) {
	registry := prometheus.NewRegistry()
	m, err := promleat.New(registry, metrics.Config{Topics: topics()})
	if err != nil {
		return nil, err
	}
	observed, err := m.Outbox(name)
	if err != nil {
		return nil, err
	}
	s := &shop{pool: pool, metrics: m, maintenance: observed.Maintenance()}
	if s.ob, err = pgoutbox.New(pool, pgoutbox.Config{Hooks: []outbox.Hook{observed}}); err != nil {
		return nil, err
	}
	s.in, err = pginbox.New(pool, "webhooks", pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{m.Consumers("webhooks")}}})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.ob.Migrate(ctx), s.in.Migrate(ctx)); err != nil {
		return nil, err
	}
	cfg, err := s.relays(observed)
	if err != nil {
		return nil, err
	}
	if err := s.shown(&cfg, m, registry); err != nil {
		return nil, err
	}
	s.daemon, err = daemon.New(cfg)
	return s, err
}

// relays returns the configuration of the relay and the maintenance.
func (s *shop) relays(observed *metrics.Outbox) (cfg daemon.Config, err error) {
	observer, err := observed.Relay("default")
	if err != nil {
		return cfg, err
	}
	source, err := s.ob.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return cfg, err
	}
	sink, err := relay.Func(s.deliver, relay.FuncConfig{})
	if err != nil {
		return cfg, err
	}
	maintenance, err := pgoutbox.NewMaintenance(s.ob, pgoutbox.MaintenanceConfig{Hooks: []outbox.Hook{s.maintenance}})
	if err != nil {
		return cfg, err
	}
	maintained, err := daemon.MaintainOutbox(name, maintenance)
	cfg.Maintenance = []daemon.Maintenance{maintained}
	cfg.Relays = []daemon.Relay{{
		Outbox: name, Group: "default", Source: source, Sink: sink, Config: relay.Config{BackoffMax: time.Second, Hooks: []outbox.Hook{observer}},
	}}
	return cfg, err
}

// shown adds metrics and the dashboard to cfg. They share one sample of the database's figures.
func (s *shop) shown(cfg *daemon.Config, m *metrics.Metrics, registry *prometheus.Registry) error {
	in, err := pginbox.NewAdmin(s.pool, pginbox.Config{})
	if err != nil {
		return err
	}
	outboxes, inboxes := map[string]admin.Outbox{name: s.ob.Admin()}, map[string]inboxadmin.Inbox{name: in}
	pages, err := dashboard.New(dashboard.Config{Outboxes: outboxes, Inboxes: inboxes, Authorize: func(*http.Request) (dashboard.Identity, error) {
		return dashboard.Identity{Actor: "who watches", Roles: dashboard.Roles()}, nil
	}})
	if err != nil {
		return err
	}
	cfg.Sampler, err = m.NewSampler(metrics.SamplerConfig{Outboxes: outboxes, Inboxes: inboxes, Interval: time.Second})
	cfg.Listen, cfg.Handler = "127.0.0.1:0", pages
	cfg.MetricsListen, cfg.MetricsHandler = "127.0.0.1:0", promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	return err
}

func topics() []string { return []string{"push", "issues", "pull_request"} }

var (
	errForGood = errors.New("the repository was deleted")
	errNow     = errors.New("the service is restarting")
)

// deliver is the consumer. It always refuses one key, and some other messages for a while.
func (s *shop) deliver(ctx context.Context, r outbox.Record) error {
	if err := s.refuses(&r); err != nil {
		return err
	}
	switch {
	case r.Key == "repository-7":
		return outbox.Failed(outbox.FailurePermanent, errForGood).Err
	case rand.IntN(500) == 0: //nolint:gosec // a fault, not a secret
		return errNow
	}
	_, err := s.in.Process(ctx, outbox.ToWatermill(&r), func(context.Context) error { return nil })
	return err
}

// enqueue is the producer. It enqueues rate messages per second.
func (s *shop) enqueue(ctx context.Context, rate float64) error {
	for n := 0; ctx.Err() == nil; n++ {
		m := outbox.Message{
			Topic: topics()[n%len(topics())], Key: fmt.Sprintf("repository-%d", n%200), Payload: fmt.Appendf(nil, `{"delivery": %d}`, n),
		}
		err := s.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error { return s.ob.Enqueue(ctx, tx, m) })
		if err != nil && ctx.Err() == nil {
			return err
		}
		_ = wait.For(ctx, time.Duration(float64(time.Second)/rate))
	}
	return nil
}
