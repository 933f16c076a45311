package relay_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// The destination is a function: it makes one request per record, in order for each customer, and never
// goes past one that has failed.
func ExampleFunc() {
	seen := make(map[string]bool)
	sms := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if key := r.Header.Get("Idempotency-Key"); !seen[key] { // a repeat is recognised
			seen[key] = true
			text, _ := io.ReadAll(r.Body)
			fmt.Printf("to %s: %s\n", r.URL.Path, text)
		}
	}))
	defer sms.Close()

	send := func(ctx context.Context, r outbox.Record) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, sms.URL+"/"+r.Key, strings.NewReader(string(r.Payload)))
		if err != nil {
			return outbox.Failed(outbox.FailurePermanent, err).Err
		}
		req.Header.Set("Idempotency-Key", relay.IdempotencyKey(ctx))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return outbox.Failed(outbox.FailureOutage, err).Err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("status %s", resp.Status)
		}
		return nil
	}
	sink, err := relay.Func(send, relay.FuncConfig{Lanes: 8})
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		panic(err)
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx *memoutbox.Tx) error {
		return ob.Enqueue(ctx, tx,
			outbox.Message{Topic: "sms", Key: "ada", Payload: []byte("your order is placed")},
			outbox.Message{Topic: "sms", Key: "ada", Payload: []byte("your order is on its way")},
		)
	})
	if err != nil {
		panic(err)
	}
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{Group: "sms"}), sink, relay.Config{
		Policies: []relay.Policy{{Action: relay.Block}},
	})
	if err != nil {
		panic(err)
	}
	n, err := r.RunOnce(ctx)
	fmt.Println(n, err)
	http.DefaultClient.CloseIdleConnections()
	// Output:
	// to /ada: your order is placed
	// to /ada: your order is on its way
	// 2 <nil>
}
