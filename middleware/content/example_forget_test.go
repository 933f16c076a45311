package content_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// forgetting are keys of customers, some of whom are forgotten for good.
type forgetting struct {
	customerKeys

	forgotten map[string]bool
}

func (f forgetting) Current(ctx context.Context, customer string) (string, content.AEAD, error) {
	if f.forgotten[customer] {
		return "", nil, content.ErrForgotten
	}
	return f.customerKeys.Current(ctx, customer)
}

// forget deletes what makes a customer's messages readable.
func (f forgetting) forget(customer string) {
	f.forgotten[customer] = true
	delete(f.customerKeys, customer)
}

// A person is forgotten while messages about them are on their way: in the outbox, soon in the
// topic and in the table of parked messages. The messages flow on, those of others do not wait
// behind them, and nobody can read them. Nothing new is sent about the person.
func ExampleSeal_forgettingAPerson() {
	ctx := context.Background()
	keys := forgetting{customerKeys{}, map[string]bool{}}
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: keys}})
	check(err)
	ob, err := memoutbox.New(memoutbox.Config{})
	check(err)
	moved := func(customer, street string) error {
		return ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error {
			return c.Enqueuer(ob).EnqueueContext(ctx, outbox.Message{
				ID: "of " + customer, Topic: "customers", Key: customer, Type: "CustomerMoved", Payload: []byte(street),
			})
		})
	}
	check(moved("customer-7", "St James's Square"))
	check(moved("customer-8", "Ockham Park"))

	keys.forget("customer-7")
	fmt.Println("enqueue:", moved("customer-7", "Marylebone"))

	// The relay sends bytes, and the consumer's inbox gives up what cannot be read.
	var store meminbox.Store
	in, err := meminbox.New("billing", meminbox.Config{Store: &store, Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	check(err)
	bill := in.Handle(c.Handle(func(_ context.Context, msg *message.Message) error {
		fmt.Printf("billing: %s moved to %s\n", msg.Metadata.Get("leat_key"), msg.Payload)
		return nil
	}))
	sink, err := relay.Func(func(_ context.Context, r outbox.Record) error { return bill(outbox.ToWatermill(&r)) }, relay.FuncConfig{Lanes: 1})
	check(err)
	r, err := relay.New(ob.Source(memoutbox.SourceConfig{}), sink, relay.Config{})
	check(err)
	n, err := r.RunOnce(ctx)
	check(err)
	fmt.Println("sent:", n)

	parked, err := meminbox.NewAdmin(&store).Parked(ctx, admin.ParkedQuery{})
	check(err)
	for _, p := range parked {
		fmt.Println("parked:", p.Reason)
		_, err = c.Show(p.Topic, p.Message.Metadata, p.Message.Payload)
		fmt.Println("for operators:", err)
	}
	// Output:
	// enqueue: leat: encode messages[0], id "of customer-7": current key: leat: the key is deleted
	// billing: customer-8 moved to Ockham Park
	// sent: 2
	// parked: leat: message "of customer-7" of type "CustomerMoved" is sealed by key "customer-7": leat: the key is deleted
	// for operators: leat: message "of customer-7" of type "CustomerMoved" is sealed by key "customer-7": leat: the key is deleted
}
