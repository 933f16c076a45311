package content_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/wmoutbox"
)

// OrderPlaced is the second version of an event. The first one had a total in euros.
type OrderPlaced struct {
	Order string `json:"order"`
	Cents int    `json:"cents"`
}

type orderPlacedV1 struct {
	Order string `json:"order"`
	Total int    `json:"total"`
}

// Events of package cqrs with versions: a message of the first version comes to the handler
// as one of the second.
func ExampleNewMarshaler() {
	older := content.From(1, content.JSON(), func(old orderPlacedV1) (OrderPlaced, error) {
		return OrderPlaced{Order: old.Order, Cents: old.Total * 100}, nil
	})
	events, err := content.NewMarshaler(content.Of[OrderPlaced]("shop.OrderPlaced", 2, content.JSON(), older))
	check(err)

	// The producer: the bus writes in the business transaction.
	ctx := context.Background()
	ob, err := memoutbox.New(memoutbox.Config{})
	check(err)
	publisher, err := wmoutbox.NewPublisher(ob, wmoutbox.Config{})
	check(err)
	bus, err := cqrs.NewEventBusWithConfig(publisher, cqrs.EventBusConfig{
		GeneratePublishTopic: func(cqrs.GenerateEventPublishTopicParams) (string, error) { return "orders", nil },
		Marshaler:            events,
	})
	check(err)
	check(ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error {
		return bus.Publish(ctx, OrderPlaced{Order: "17", Cents: 4200})
	}))
	sent := ob.Committed()[0]
	fmt.Println(sent.Type, sent.Headers["event-version"], string(sent.Payload))

	// The consumer, of a message that was sent years ago.
	old := message.NewMessage("1", []byte(`{"order":"3","total":7}`))
	old.Metadata.Set("event-type", "shop.OrderPlaced")
	var got OrderPlaced
	check(events.Unmarshal(old, &got))
	fmt.Printf("%+v\n", got)
	// Output:
	// shop.OrderPlaced 2 {"order":"17","cents":4200}
	// {Order:3 Cents:700}
}

// aead makes any cipher.AEAD of crypto/cipher that chooses its nonces an AEAD.
type aead struct{ cipher.AEAD }

func (a aead) Encrypt(plaintext, ad []byte) ([]byte, error) {
	return a.Seal(nil, nil, plaintext, ad), nil
}

func (a aead) Decrypt(ciphertext, ad []byte) ([]byte, error) {
	return a.Open(nil, nil, ciphertext, ad)
}

// customerKeys has one key a customer. A service keeps them in a table or in a key store.
type customerKeys map[string]content.AEAD

func (k customerKeys) Current(_ context.Context, customer string) (string, content.AEAD, error) {
	if k[customer] == nil {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // it never fails
		block, err := aes.NewCipher(secret)
		if err != nil {
			return "", nil, err
		}
		gcm, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return "", nil, err
		}
		k[customer] = aead{gcm}
	}
	return customer, k[customer], nil
}

func (k customerKeys) Key(_ context.Context, name string) (content.AEAD, error) {
	if k[name] == nil {
		return nil, content.ErrForgotten
	}
	return k[name], nil
}

// To forget a person, delete the person's key: no copy of a message can be read any more, in
// the outbox, in the topic, in a dead letter or in a backup.
func ExampleSeal() {
	ctx := context.Background()
	keys := customerKeys{}
	c, err := content.New(content.Config{Seal: &content.Seal{Keys: keys}})
	check(err)

	// The producer. The key of the message says whose it is.
	ob, err := memoutbox.New(memoutbox.Config{})
	check(err)
	check(ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error {
		return c.Enqueuer(ob).EnqueueContext(ctx, outbox.Message{
			ID: "1", Topic: "customers", Key: "customer-7", Type: "CustomerMoved", Payload: []byte(`{"street":"St James's Square"}`),
		})
	}))
	sent := ob.Committed()[0]
	fmt.Println("sealed by", sent.Headers["content-key"])

	// The consumer, inside of the inbox.
	in, err := meminbox.New("billing", meminbox.Config{Config: inbox.Config{OnFailure: inbox.Policy{Action: inbox.Park}}})
	check(err)
	handle := in.Handle(c.Handle(func(_ context.Context, msg *message.Message) error {
		fmt.Printf("%s\n", msg.Payload)
		return nil
	}))
	check(handle(outbox.ToWatermill(&sent)))

	delete(keys, "customer-7")
	_, err = c.Show("customers", outbox.ToWatermill(&sent).Metadata, sent.Payload)
	fmt.Println("forgotten:", errors.Is(err, content.ErrForgotten))
	// Output:
	// sealed by customer-7
	// {"street":"St James's Square"}
	// forgotten: true
}

// directory keeps large payloads in files. A bucket of S3 is as short.
type directory string

func (d directory) Put(_ context.Context, key string, data []byte) error {
	file := filepath.Join(string(d), key)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

func (d directory) Get(_ context.Context, key string) ([]byte, error) {
	data, err := os.ReadFile(filepath.Join(string(d), key))
	if errors.Is(err, os.ErrNotExist) {
		err = content.ErrGone
	}
	return data, err
}

// A large payload is put before the transaction begins, so that no lock waits for it.
func ExampleClaim() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "claims")
	check(err)
	defer os.RemoveAll(dir)
	c, err := content.New(content.Config{Claim: &content.Claim{Blobs: directory(dir)}})
	check(err)
	msgs, err := c.Encode(ctx, outbox.Message{ID: "1", Topic: "scans", Type: "Scanned", Payload: make([]byte, 5<<20)})
	check(err)
	ob, err := memoutbox.New(memoutbox.Config{})
	check(err)
	check(ob.InTx(ctx, func(ctx context.Context, _ *memoutbox.Tx) error {
		return ob.EnqueueContext(ctx, msgs...)
	}))
	sent := ob.Committed()[0]
	fmt.Println("a reference in the outbox:", len(sent.Payload) < 200)

	handle := c.Handle(func(_ context.Context, msg *message.Message) error {
		fmt.Println("the handler gets", len(msg.Payload), "bytes")
		return nil
	})
	check(handle(ctx, outbox.ToWatermill(&sent)))
	// Output:
	// a reference in the outbox: true
	// the handler gets 5242880 bytes
}

// CloudEvents for consumers that know of them: in binary mode the attributes are headers.
func ExampleCloudEvents() {
	ctx := context.Background()
	c, err := content.New(content.Config{CloudEvents: &content.CloudEvents{Source: "/shop"}})
	check(err)
	msgs, err := c.Encode(ctx, outbox.Message{
		ID: "1", Topic: "orders", Type: "shop.OrderPlaced", Payload: []byte(`{"order":"17"}`),
		Headers: map[string]string{"content-type": "application/json"},
	})
	check(err)
	fmt.Println(msgs[0].Headers["ce_id"], msgs[0].Headers["ce_source"], msgs[0].Headers["ce_type"])

	// What others send is read in either mode.
	foreign := message.NewMessage("u", []byte(`{"specversion":"1.0","id":"7","source":"/tax","type":"tax.Changed","data":{"rate":19}}`))
	foreign.Metadata.Set("content-type", "application/cloudevents+json")
	id, err := inbox.IDFromCloudEvent().Find(foreign)
	check(err)
	check(c.Handle(func(_ context.Context, msg *message.Message) error {
		fmt.Printf("%s: %s %s\n", id, msg.Metadata.Get("event-type"), msg.Payload)
		return nil
	})(ctx, foreign))
	// Output:
	// 1 /shop shop.OrderPlaced
	// /tax 7: tax.Changed {"rate":19}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
