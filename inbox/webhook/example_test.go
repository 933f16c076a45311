package webhook_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/inbox/webhook"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
)

// Stripe sends an event twice, and somebody else sends one, too.
func Example() {
	const secret = "whsec_test_secret_of_stripe"
	in, err := meminbox.New("stripe", meminbox.Config{}) // pginbox in a service
	if err != nil {
		fmt.Println(err)
		return
	}
	scheme, err := webhook.Stripe(secret)
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := webhook.New(scheme, in, func(_ context.Context, msg *message.Message) error {
		// Write in the transaction: pginbox.Tx(ctx).
		fmt.Println("handled", msg.UUID, msg.Metadata[outbox.HeaderEventType])
		return nil
	}, webhook.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}

	body := `{"id": "evt_1", "type": "invoice.paid"}`
	now := time.Now().Unix()
	signature := fmt.Sprintf("t=%d,v1=%s", now, hexHMAC(secret, fmt.Sprintf("%d.%s", now, body)))
	for _, s := range []string{signature, signature, "t=1,v1=00"} {
		r := httptest.NewRequest(http.MethodPost, "/stripe", strings.NewReader(body))
		r.Header.Set("Stripe-Signature", s)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	// Output:
	// handled evt_1 invoice.paid
	// 200
	// 200
	// 401
}

// Events of GitHub go into the outbox, in order of their repositories, and from there to
// whoever wants them.
func ExampleEnqueue() {
	ob, err := memoutbox.New(memoutbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := meminbox.New("github", meminbox.Config{Join: func(ctx context.Context) (meminbox.Joined, error) {
		tx, err := ob.Begin(ctx)
		return joined{tx}, err
	}}) // pginbox and pgoutbox share the transaction by themselves
	if err != nil {
		fmt.Println(err)
		return
	}
	enqueue, err := webhook.Enqueue(ob, "github", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	scheme, err := webhook.GitHub("It's a Secret to Everybody")
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := webhook.New(scheme, in, enqueue, webhook.Config{AfterCommit: ob.Wake})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		r := httptest.NewRequest(http.MethodPost, "/github", strings.NewReader("Hello, World!"))
		r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
		r.Header.Set("X-GitHub-Event", "push")
		r.Header.Set("X-Hub-Signature-256", "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17")
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, r := range ob.Committed() {
		fmt.Println(r.Topic, r.Type, string(r.Payload))
	}
	// Output: github push Hello, World!
}

// tenantScheme is a Scheme of one's own: each tenant has a secret and ids of its own.
type tenantScheme struct{ byTenant map[string]webhook.Scheme }

// Verify implements webhook.Scheme.
func (s tenantScheme) Verify(r webhook.Request) (id, kind string, err error) {
	tenant := r.Header.Get("X-Tenant")
	scheme, ok := s.byTenant[tenant]
	if !ok {
		return "", "", webhook.ErrUnverified
	}
	id, kind, err = scheme.Verify(r)
	return tenant + " " + id, kind, err
}

// A Scheme can stand around others.
func ExampleScheme() {
	acme, err := webhook.Standard(standardSecret)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := tenantScheme{byTenant: map[string]webhook.Scheme{"acme": acme}}
	r := standardRequest()
	_, _, err = s.Verify(r)
	fmt.Println(err)
	r.Header.Set("X-Tenant", "acme")
	fmt.Println(s.Verify(r))
	// Output:
	// leat: webhook is not verified
	// acme msg_p5jXN8AQM9LWM0D4loKWxJek  <nil>
}
