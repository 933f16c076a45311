package dedupe_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
)

// payments is an API that knows idempotency keys.
func payments() *httptest.Server {
	var mu sync.Mutex
	receipts := map[string]string{}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		key := r.Header.Get("Idempotency-Key")
		if receipts[key] == "" {
			receipts[key] = fmt.Sprint("receipt ", len(receipts)+1)
			fmt.Println("the card is charged")
		} else {
			fmt.Println("the API has seen this key")
		}
		_, _ = io.WriteString(w, receipts[key])
	}))
}

func pay(ctx context.Context, url, key string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	return io.ReadAll(res.Body)
}

// The handler crashes twice: within the step, when the card is charged already, and
// after it. The card is charged once.
func ExampleStep() {
	api := payments()
	defer api.Close()
	defer http.DefaultClient.CloseIdleConnections()
	store, err := memdedupe.New(memdedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	processor, err := dedupe.New(store, "billing", dedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	delivery := 0
	handle := func(ctx context.Context) ([]byte, error) {
		receipt, err := dedupe.Step(ctx, "charge", func(ctx context.Context, call dedupe.StepCall) ([]byte, error) {
			receipt, err := pay(ctx, api.URL, call.IdempotencyKey)
			if delivery == 1 {
				panic("within the step")
			}
			return receipt, err
		})
		if err != nil {
			return nil, err
		}
		if delivery == 2 {
			panic("after the step")
		}
		fmt.Printf("mail with %s\n", receipt)
		return receipt, nil
	}
	for delivery = 1; delivery <= 4; delivery++ {
		func() {
			defer func() {
				if r := recover(); r != nil {
					fmt.Println("crash", r)
				}
			}()
			_, err := processor.Do(context.Background(), dedupe.Message{ID: "order-1"}, handle)
			fmt.Println("delivery", delivery, "ends with", err)
		}()
	}
	// Output:
	// the card is charged
	// crash within the step
	// the API has seen this key
	// crash after the step
	// mail with receipt 1
	// delivery 3 ends with <nil>
	// delivery 4 ends with <nil>
}
