package metrics_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// console is a Backend that prints counters. Those for Prometheus and OpenTelemetry are made by
// promleat.New and otelleat.NewMetrics.
type console struct{}

type printed struct {
	name  string
	total atomic.Int64
}

func (c *printed) Add(n float64) { fmt.Println(c.name, c.total.Add(int64(n))) }

func (console) Counter(d metrics.Definition, values ...string) metrics.Counter {
	return &printed{name: d.Name + "{" + strings.Join(values, ",") + "}"}
}

func (console) Histogram(metrics.Definition, ...string) metrics.Histogram { return unseen{} }

func (console) Gauges(func(show func(d metrics.Definition, value float64, values ...string))) error {
	return nil
}

type unseen struct{}

func (unseen) Observe(float64)      {}
func (unseen) ObserveAll([]float64) {}

// What New returns makes the hooks of outboxes, relays and inboxes.
func ExampleNew() {
	m, err := metrics.New(console{}, metrics.Config{Topics: []string{"orders"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	main, err := m.Outbox("main")
	if err != nil {
		fmt.Println(err)
		return
	}
	ob, err := memoutbox.New(memoutbox.Config{Hooks: []outbox.Hook{main}})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(context.Background(), func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: "o-1", Payload: []byte("placed")})
	})
	fmt.Println(err)
	// Output:
	// leat_outbox_enqueued_messages_total{main,orders} 1
	// <nil>
}
