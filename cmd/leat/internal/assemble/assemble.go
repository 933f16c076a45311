// Package assemble puts together the daemon that a file describes. It checks all of the file, with the
// library's own validation, and reports everything that is wrong, with its line.
package assemble

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// Input describes a daemon.
type Input struct {
	// Settings apply to all of leat's commands, Daemon to leat run.
	Settings settings.Settings
	Daemon   settings.Daemon
	// Database is the URL of the outboxes and inboxes that do not set one.
	Database string
	// Actor is the name in the audit for changes made by clients on this machine.
	Actor string
	// Logger is the log of all parts.
	Logger *slog.Logger
	// Dial opens connections to databases, and unencrypted ones to Kafka. Defaults to that of package net.
	Dial Dial
	// Hooks observe each relay and the maintenance of each outbox, so each must be a hook of both. Defaults
	// to none.
	Hooks []outbox.Hook
}

// Dial opens a connection.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// Assembly is a daemon put together, with its connections.
type Assembly struct {
	// Config is the configuration of the daemon.
	Config daemon.Config

	closers []io.Closer
	takes   []takes
	most    int // connections of one server; 0: half of its limit
	kafka   []kafkaInUse
	server  *certificate
	signIn  *signInUsed
	running atomic.Pointer[daemon.Daemon]
}

// Runs passes d, the daemon that was made from Config, to the dashboard, which can then show the
// destinations that are out.
func (a *Assembly) Runs(d *daemon.Daemon) { a.running.Store(d) }

func (a *Assembly) breakers(outbox, group string) []relay.BreakerState {
	if d := a.running.Load(); d != nil {
		return d.Breakers(outbox, group)
	}
	return nil
}

// New puts together the daemon that in describes. It connects to nothing. An error is a
// *settings.InvalidError that lists all that is wrong. The caller must close the Assembly.
func New(ctx context.Context, in Input) (*Assembly, error) {
	b := &builder{
		ctx: ctx, in: in, made: &Assembly{}, outboxes: map[string]admin.Outbox{}, inboxes: map[string]inboxadmin.Inbox{},
		databases: map[string]open.Database{}, windows: map[string]open.Database{},
		shown: dashboard.Config{Outboxes: map[string]admin.Outbox{}, Inboxes: map[string]inboxadmin.Inbox{}},
	}
	b.made.Config.Logger = in.Logger
	b.made.most = b.count(in.Daemon.Connections, 1)
	b.listeners()
	b.tracing()
	for i := range in.Daemon.Outboxes {
		b.outbox(&in.Daemon.Outboxes[i])
	}
	for i := range in.Daemon.Inboxes {
		b.inbox(&in.Daemon.Inboxes[i])
	}
	if d := b.shows(); d != nil {
		b.dashboard(d)
	}
	if len(in.Daemon.Outboxes)+len(in.Daemon.Inboxes) == 0 {
		b.missing(settings.Place{}, "outboxes", "there is none, and no inbox: nothing is to run")
	} else if len(b.findings) == 0 {
		b.finish()
	}
	if len(b.findings) > 0 {
		b.made.Close()
		return nil, &settings.InvalidError{Path: in.Daemon.Path(), Findings: b.findings}
	}
	return b.made, nil
}

// Check returns what New would return for in, and connects to nothing.
func Check(ctx context.Context, in Input) error {
	made, err := New(ctx, in)
	if err == nil {
		made.Close()
	}
	return err
}

// Close closes connections to databases and destinations.
func (a *Assembly) Close() {
	for _, c := range slices.Backward(a.closers) {
		_ = c.Close()
	}
}

// closer is a function with the method Close.
type closer func()

// Close calls c.
func (c closer) Close() error {
	c()
	return nil
}

// builder puts an Assembly together.
type builder struct {
	reader

	ctx        context.Context //nolint:containedctx // of New
	in         Input
	made       *Assembly
	metrics    *metrics.Metrics // nil: nothing is measured
	publishing relay.SendHook   // nil: no spans
	databases  map[string]open.Database
	outboxes   map[string]admin.Outbox
	inboxes    map[string]inboxadmin.Inbox
	windows    map[string]open.Database // of the dashboard
	shown      dashboard.Config         // the stores that it shows
}

// finish builds the parts that concern the whole daemon.
func (b *builder) finish() {
	if b.metrics != nil {
		b.shareSamples()
		cfg := metrics.SamplerConfig{Outboxes: b.outboxes, Inboxes: b.inboxes, Logger: b.in.Logger, Interval: b.span(b.in.Daemon.Metrics.Interval)}
		sampler, err := b.metrics.NewSampler(cfg)
		if err != nil {
			b.refused(b.in.Daemon.Metrics.At, b.in.Daemon.Metrics, err)
		}
		b.made.Config.Sampler = sampler
	}
	if _, err := daemon.New(b.made.Config); err != nil && len(b.findings) == 0 {
		b.refused(settings.Place{}, struct{}{}, err)
	}
}

// listeners reads where the daemon listens.
func (b *builder) listeners() {
	d, cfg := &b.in.Daemon, &b.made.Config
	cfg.Listen = "127.0.0.1:8470"
	if h := d.HTTP; h != nil {
		if h.Listen.Set() {
			cfg.Listen = b.address(h.Listen)
		}
		b.certificate(h)
		cfg.Hosts = texts(h.Hosts)
		if h.Dashboard != nil {
			cfg.Hosts = append(cfg.Hosts, texts(h.Dashboard.Hosts)...)
		}
	}
	if d.Metrics == nil {
		return
	}
	if cfg.MetricsListen = b.address(d.Metrics.Listen); cfg.MetricsListen == "" {
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m, err := promleat.New(registry, metrics.Config{Topics: texts(d.Metrics.Topics)})
	if err != nil {
		b.refused(d.Metrics.At, d.Metrics, err)
		return
	}
	b.metrics = m
	cfg.MetricsHandler = promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(b.in.Logger.Handler(), slog.LevelWarn)})
}

// address returns where to listen, "" for none.
func (b *builder) address(t settings.Text) string {
	if !t.Set() || t.Value == "none" {
		return ""
	}
	if err := checkAddress(t.Value); err != nil {
		b.wrong(t, err.Error())
	}
	return t.Value
}

var errAddress = errors.New("must be host:port, such as 127.0.0.1:8470, or none")
