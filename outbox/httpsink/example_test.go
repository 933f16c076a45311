package httpsink_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/httpsink"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// A shop tells a customer's endpoint of its orders.
func Example() {
	customer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(r.Header.Get("webhook-id"), r.Header.Get("leat-event-type"), string(body))
	}))
	defer customer.Close()

	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx, outbox.Message{
			ID: "order-1-placed", Topic: "customer-7", Key: "order-1", Type: "order.placed", Payload: []byte(`{"total": 30}`),
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// The topic is the endpoint's name. In a service the endpoints are rows of a table,
	// behind an Endpoints of your own.
	endpoints := httpsink.Static{"customer-7": {URL: customer.URL, Secrets: []string{httpsink.NewSecret()}}}
	sink, err := httpsink.New(endpoints, httpsink.Config{
		AllowHTTP:     true, // this customer lives in this process
		AllowNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = sink.Close() }()
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.RunOnce(ctx))
	// Output:
	// order-1-placed order.placed {"total": 30}
	// 1 <nil>
}

// customers is what a service knows of its customers.
type customers struct{ off map[string]bool }

// Endpoint implements httpsink.Endpoints.
func (c *customers) Endpoint(_ context.Context, name string) (httpsink.Endpoint, error) {
	// Here a service would read its table.
	return httpsink.Endpoint{URL: "https://hooks.example.com/" + name, Secrets: []string{secret}, Off: c.off[name]}, nil
}

// OnHttpsinkGone implements httpsink.GoneHook.
func (c *customers) OnHttpsinkGone(_ context.Context, e httpsink.GoneEvent) { c.off[e.Endpoint] = true }

// An endpoint that answers 410 is switched off where endpoints are kept, so that other
// relays know it, too.
func ExampleGoneHook() {
	c := &customers{off: make(map[string]bool)}
	sink, err := httpsink.New(c, httpsink.Config{
		Hooks: []outbox.Hook{c},
		Wrap: func(http.RoundTripper) http.RoundTripper { // answers in place of the customer
			return roundTripper(func(*http.Request) (*http.Response, error) { return answered(http.StatusGone, nil), nil })
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	results := sink.Send(context.Background(), []outbox.Record{{Message: outbox.Message{ID: "1", Topic: "customer-7"}}})
	fmt.Println(outbox.KindOf(results[0].Err), c.off)
	// Output: permanent map[customer-7:true]
}
