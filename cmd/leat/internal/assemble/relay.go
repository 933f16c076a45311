package assemble

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/daemon"
	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// relay makes a relay of an outbox.
func (b *builder) relay(r *settings.Relay, expect *settings.Expect, name string, store open.Relayed, observed *metrics.Outbox) {
	group := groupOf(r)
	if slices.ContainsFunc(b.made.Config.Relays, func(other daemon.Relay) bool { return other.Outbox == name && other.Group == group }) {
		b.missing(r.At, "group", fmt.Sprintf("another relay of outbox %q has group %q: one process needs one relay a group, whatever its slots", name, group))
		return
	}
	var observer *metrics.Relay
	cfg := b.relayConfig(r)
	if expect != nil {
		cfg.Expect = driver.Place{Host: expect.Host.Value, Database: expect.Database.Value, Instance: expect.Instance.Value}
	}
	if observed != nil {
		var err error
		if observer, err = observed.Relay(group); err != nil {
			b.refused(r.At, r, err)
			return
		}
		cfg.Hooks = []outbox.Hook{observer}
	}
	if b.publishing != nil {
		cfg.Hooks = append(cfg.Hooks, b.publishing)
	}
	cfg.Hooks = append(cfg.Hooks, b.in.Hooks...)
	request := open.SourceRequest{
		Group: group, Slots: b.count(r.Slots, 1), Topics: texts(r.Topics), NoListen: b.yes(r.NoListen), SyncPositions: r.ExactlyOnce(),
	}
	request.Start, request.At = b.start(r.Start)
	request.Tail = b.tail(r.Tail, observer)
	source, err := store.Source(request)
	switch {
	case err != nil && r.Tail != nil && strings.Contains(err.Error(), "Tail."):
		b.refused(r.Tail.At, r.Tail, err)
	case err != nil:
		b.refused(r.At, r, err)
	}
	cfg.Logger = b.in.Logger.With(slog.String("outbox", name), slog.String("group", group))
	sink := b.sink(r, name, observer)
	if err != nil || sink == nil {
		return
	}
	if _, err := relay.New(source, sink, cfg); err != nil {
		b.refused(r.At, r, err)
		return
	}
	b.made.Config.Relays = append(b.made.Config.Relays, daemon.Relay{Outbox: name, Group: group, Source: source, Sink: sink, Config: cfg})
}

// tail returns the configuration of a tail, nil if t is nil.
func (b *builder) tail(t *settings.Tail, observer *metrics.Relay) *pgoutbox.TailConfig {
	if t == nil {
		return nil
	}
	cfg := &pgoutbox.TailConfig{
		Publication: t.Publication.Value, URL: t.URL.Value, Look: b.span(t.Look), MaxLag: b.span(t.MaxLag), MaxRows: b.count(t.MaxRows, 1),
	}
	if observer != nil {
		cfg.Hooks = []outbox.Hook{observer.Tail()}
	}
	return cfg
}

// groupOf is the group that r relays.
func groupOf(r *settings.Relay) string { return cmp.Or(r.Group.Value, "default") }

func (b *builder) relayConfig(r *settings.Relay) relay.Config {
	cfg := relay.Config{
		PageSize: b.count(r.PageSize, 1), PageBytes: int(b.size(r.PageBytes)), Lease: b.span(r.Lease), PublishTimeout: b.span(r.PublishTimeout),
		LeaseMargin: b.span(r.LeaseMargin), PollMax: b.span(r.PollMax), BackoffMax: b.span(r.BackoffMax), DrainTimeout: b.span(r.DrainTimeout),
		MaxHeld: b.count(r.MaxHeld, 1), SLO: b.span(r.SLO), AdoptPosition: b.yes(r.AdoptPosition),
		AllowedTopics: texts(r.AllowedTopics),
	}
	if r.ReadAhead.Set() {
		if cfg.ReadAhead = b.count(r.ReadAhead, 0); cfg.ReadAhead == 0 {
			cfg.ReadAhead = relay.NoReadAhead
		}
	}
	if b.oneOf(r.Order, "key", "total") == "total" {
		cfg.TotalOrder = true
	}
	actions := map[string]relay.Action{"park": relay.Park, "block": relay.Block, "dead_letter": relay.DeadLetter, "skip": relay.Skip}
	for _, p := range r.Policies {
		cfg.Policies = append(cfg.Policies, relay.Policy{
			Topics: p.Topics.Value, Action: actions[b.oneOf(p.Action, "park", "block", "dead_letter", "skip")], Attempts: b.count(p.Attempts, 1),
		})
	}
	return cfg
}

// start reads where a new group begins.
func (b *builder) start(t settings.Text) (word string, at time.Time) {
	switch t.Value {
	case "", "oldest", "now":
		return t.Value, at
	}
	at, err := time.Parse(time.RFC3339, t.Value)
	if err != nil {
		b.wrong(t, fmt.Sprintf("%q: must be oldest, now, or a time such as 2026-01-05T10:00:00Z", t.Value))
	}
	return "", at
}
