package promleat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/promleat"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// An outbox, its relay and an inbox are observed by one Metrics. Its registry is served by
// promhttp.HandlerFor.
func Example() {
	registry := prometheus.NewRegistry() // or prometheus.DefaultRegisterer
	if err := serve(context.Background(), registry); err != nil {
		fmt.Println(err)
		return
	}
	show(registry, "leat_relay_sent_messages_total", "leat_outbox_held_messages", "leat_inbox_deliveries_total")
	// Output:
	// leat_inbox_deliveries_total{consumer="loyalty",outcome="committed"} 1
	// leat_outbox_held_messages{group="default",outbox="main",state="parked"} 1
	// leat_relay_sent_messages_total{group="default",outbox="main",outcome="delivered",topic="orders"} 1
	// leat_relay_sent_messages_total{group="default",outbox="main",outcome="permanent",topic="orders"} 1
}

func serve(ctx context.Context, registry prometheus.Registerer) error {
	m, err := promleat.New(registry, metrics.Config{Topics: []string{"orders"}})
	if err != nil {
		return err
	}
	main, err := m.Outbox("main")
	if err != nil {
		return err
	}
	ob, err := memoutbox.New(memoutbox.Config{Hooks: []outbox.Hook{main}})
	if err != nil {
		return err
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{ID: "order-1", Topic: "orders", Key: "a"}, outbox.Message{ID: "large", Topic: "orders", Key: "b"})
	})
	if err != nil {
		return err
	}
	observer, err := main.Relay("default")
	if err != nil {
		return err
	}
	sink, err := relay.Func(deliver, relay.FuncConfig{})
	if err != nil {
		return err
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{Hooks: []outbox.Hook{observer}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer observer.Watch(r)()
	if _, err := r.RunOnce(ctx); err != nil {
		return err
	}
	in, err := meminbox.New("loyalty", meminbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{m.Consumers("loyalty")}}})
	if err != nil {
		return err
	}
	if _, err := in.Process(ctx, message.NewMessage("order-1", nil), func(context.Context) error { return nil }); err != nil {
		return err
	}
	sampler, err := m.NewSampler(metrics.SamplerConfig{Outboxes: map[string]admin.Outbox{"main": ob.Admin()}, Interval: time.Minute})
	if err != nil {
		return err
	}
	return sampler.Sample(ctx) // a service calls Run, beside its relay
}

func deliver(_ context.Context, r outbox.Record) error {
	if r.ID == "large" {
		return &outbox.DeliveryError{Kind: outbox.FailurePermanent, Err: errors.New("too large")}
	}
	return nil
}

// show prints the series of some metrics that are not 0.
func show(registry prometheus.Gatherer, names ...string) {
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			value := s.GetCounter().GetValue() + s.GetGauge().GetValue()
			if value == 0 || !strings.Contains(strings.Join(names, " "), f.GetName()) {
				continue
			}
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			fmt.Printf("%s{%s} %v\n", f.GetName(), strings.Join(labels, ","), value)
		}
	}
}
