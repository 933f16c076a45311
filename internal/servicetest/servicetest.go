// Package servicetest checks that a leat.Service keeps its promises on a store.
package servicetest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/relay"
	"github.com/leat-go/leat/outbox/wmsink"
)

// Store is a database that only one test uses.
type Store struct {
	// Outbox and Inbox return the outbox and the inbox of one process of the service "shop".
	Outbox func(t *testing.T) leat.Outbox
	Inbox  func(t *testing.T, policy inbox.Policy) leat.Inbox

	// Publish enqueues messages in a transaction of its own.
	Publish func(ctx context.Context, ob leat.Outbox, msgs ...outbox.Message) error
	// Write adds an effect in the transaction that ctx carries.
	Write func(ctx context.Context, effect string) error
	// Effects returns the effects that are committed, in any order.
	Effects func(ctx context.Context) ([]string, error)

	// Redrive makes the parked messages of a consumer run again. It is nil if the store cannot park
	// messages.
	Redrive func(ctx context.Context, consumer string) (int, error)
	// NoDelay is true if the store cannot delay messages.
	NoDelay bool
}

// Run runs all checks, each on a store of its own. It skips checks that the store cannot pass.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, s Store){
		"TwoInstances":      twoInstances,
		"DelayedIsSent":     delayedIsSent,
		"OnlyConsumes":      onlyConsumes,
		"OnlyPublishes":     onlyPublishes,
		"RedrivenRuns":      redrivenRuns,
		"PartFails":         partFails,
		"RouterIsClosed":    routerIsClosed,
		"HandlerMayFinish":  handlerMayFinish,
		"EndsBeforeItBegan": endsBeforeItBegan,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, open(t))
		})
	}
}

// patience is how long a check waits for something that must happen.
const patience = 30 * time.Second

// pubsub is a broker in memory that gives every message to every subscriber. It goes on when routers close
// it.
type pubsub struct{ *gochannel.GoChannel }

func broker(t *testing.T) pubsub {
	t.Helper()
	b := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return pubsub{b}
}

// Close does nothing: a subscription ends when its context ends.
func (pubsub) Close() error { return nil }

func sink(t *testing.T, b message.Publisher) *wmsink.Sink {
	t.Helper()
	s, err := wmsink.New(b, wmsink.Config{})
	require.NoError(t, err)
	return s
}

func newService(t *testing.T, cfg leat.Config) *leat.Service {
	t.Helper()
	if cfg.Sink != nil {
		cfg.Relay = relay.Config{PublishTimeout: time.Second, LeaseMargin: 100 * time.Millisecond, Lease: 2 * time.Second}
	}
	s, err := leat.New(cfg)
	require.NoError(t, err)
	return s
}

func newRouter(t *testing.T, s *leat.Service) *leat.Router {
	t.Helper()
	r, err := message.NewRouter(message.RouterConfig{CloseTimeout: patience}, watermill.NopLogger{})
	require.NoError(t, err)
	return s.Router(r)
}

// running is a service whose Run was called.
type running struct {
	t    *testing.T
	stop context.CancelFunc
	done chan error
}

// start runs s, and waits until it is ready.
func start(t *testing.T, s *leat.Service, parts ...leat.Runner) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{t: t, stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- s.Run(ctx, parts...) }()
	t.Cleanup(cancel)
	await(t, "it is ready", func(c *assert.CollectT) { require.NoError(c, s.Ready(t.Context())) })
	return r
}

// ended returns the error that Run returned. It waits for the end.
func (r *running) ended() error {
	r.t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(patience):
		require.Fail(r.t, "Run does not return")
		return nil
	}
}

// end stops the service, and fails the test if Run returns an error.
func (r *running) end() {
	r.t.Helper()
	r.stop()
	require.NoError(r.t, r.ended())
}

func await(t *testing.T, what string, happened func(c *assert.CollectT)) {
	t.Helper()
	require.EventuallyWithT(t, happened, patience, 5*time.Millisecond, what)
}

// awaitEffects waits until the effects are exactly want.
func awaitEffects(t *testing.T, s Store, want ...string) {
	t.Helper()
	slices.Sort(want)
	await(t, "the effects", func(c *assert.CollectT) {
		got, err := s.Effects(t.Context())
		require.NoError(c, err)
		slices.Sort(got)
		require.Equal(c, want, got)
	})
}

// adds returns a handler that adds an effect with the handler's name and the payload.
func adds(s Store, name string) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error { return s.Write(msg.Context(), name+" "+string(msg.Payload)) }
}

// passes returns a handler that adds such an effect and returns a message.
func passes(s Store, name string) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		if err := adds(s, name)(msg); err != nil {
			return nil, err
		}
		return message.Messages{message.NewMessage(watermill.NewUUID(), msg.Payload)}, nil
	}
}

func order(n int) outbox.Message {
	return outbox.Message{Topic: "orders", Key: "k" + strconv.Itoa(n%3), Payload: []byte(strconv.Itoa(n))}
}

// twoInstances: two processes share the work, and one of them stops. Each subscriber gets every
// message, so that each message arrives at least twice.
func twoInstances(t *testing.T, s Store) {
	t.Helper()
	b := broker(t)
	instances, obs := [2]*running{}, [2]leat.Outbox{}
	for i := range instances {
		obs[i] = s.Outbox(t)
		service := newService(t, leat.Config{Outbox: obs[i], Inbox: s.Inbox(t, inbox.Policy{Delay: inbox.NoDelay}), Sink: sink(t, b)})
		router := newRouter(t, service)
		router.AddHandler("pay", "orders", b, "payments", nil, passes(s, "pay"))
		router.AddConsumerHandler("loyalty", "payments", b, adds(s, "loyalty"))
		instances[i] = start(t, service)
	}
	want := []string{}
	publish := func(from, to int) {
		for n := from; n < to; n++ {
			require.NoError(t, s.Publish(t.Context(), obs[n%2], order(n)))
			want = append(want, "pay "+strconv.Itoa(n), "loyalty "+strconv.Itoa(n))
		}
	}
	publish(0, 20)
	awaitEffects(t, s, want...)
	instances[0].end()
	publish(20, 30)
	awaitEffects(t, s, want...)
	instances[1].end()
	awaitEffects(t, s, want...)
}

// delayedIsSent: a delayed message is sent, although only Run moves it to the log when its time has come.
func delayedIsSent(t *testing.T, s Store) {
	t.Helper()
	if s.NoDelay {
		return
	}
	b, ob := broker(t), s.Outbox(t)
	service := newService(t, leat.Config{Outbox: ob, Inbox: s.Inbox(t, inbox.Policy{}), Sink: sink(t, b)})
	newRouter(t, service).AddConsumerHandler("loyalty", "orders", b, adds(s, "loyalty"))
	run := start(t, service)
	m := order(1)
	m.NotBefore = time.Now().Add(50 * time.Millisecond)
	require.NoError(t, s.Publish(t.Context(), ob, m))
	awaitEffects(t, s, "loyalty 1")
	run.end()
}

// onlyConsumes: a service that only consumes works without an outbox.
func onlyConsumes(t *testing.T, s Store) {
	t.Helper()
	b := broker(t)
	service := newService(t, leat.Config{Inbox: s.Inbox(t, inbox.Policy{Delay: inbox.NoDelay})})
	newRouter(t, service).AddConsumerHandler("loyalty", "orders", b, adds(s, "loyalty"))
	run := start(t, service)
	id := watermill.NewUUID()
	for range 3 {
		require.NoError(t, b.Publish("orders", message.NewMessage(id, []byte("1"))))
	}
	require.NoError(t, b.Publish("orders", message.NewMessage(watermill.NewUUID(), []byte("2"))))
	awaitEffects(t, s, "loyalty 1", "loyalty 2")
	run.end()
	awaitEffects(t, s, "loyalty 1", "loyalty 2")
}

// onlyPublishes: a service that only publishes works with a relay in another process.
func onlyPublishes(t *testing.T, s Store) {
	t.Helper()
	b, ob := broker(t), s.Outbox(t)
	producer := newService(t, leat.Config{Outbox: ob})
	publishes := start(t, producer)
	relays := start(t, newService(t, leat.Config{Outbox: s.Outbox(t), Sink: sink(t, b)}))
	got, err := b.Subscribe(t.Context(), "orders")
	require.NoError(t, err)
	require.NoError(t, s.Publish(t.Context(), ob, order(1)))
	select {
	case msg := <-got:
		require.Equal(t, "1", string(msg.Payload))
		msg.Ack()
	case <-time.After(patience):
		require.Fail(t, "the message is not sent")
	}
	publishes.end()
	relays.end()
}

// redrivenRuns: a message that an operator has redriven passes the handler and the inner
// middlewares, and what the handler returns is sent.
func redrivenRuns(t *testing.T, s Store) {
	t.Helper()
	if s.Redrive == nil {
		return
	}
	b, ob := broker(t), s.Outbox(t)
	policy := inbox.Policy{Action: inbox.Park, Attempts: 1, Delay: inbox.NoDelay}
	service := newService(t, leat.Config{Outbox: ob, Inbox: s.Inbox(t, policy), Sink: sink(t, b)})
	var calls, inner atomic.Int64
	router := newRouter(t, service)
	router.AddMiddleware(func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) { inner.Add(1); return h(msg) }
	})
	router.AddHandler("pay", "orders", b, "payments", nil, func(msg *message.Message) ([]*message.Message, error) {
		if calls.Add(1) == 1 {
			return nil, errors.New("the bank is closed")
		}
		return passes(s, "pay")(msg)
	})
	run := start(t, service)
	sent, err := b.Subscribe(t.Context(), "payments")
	require.NoError(t, err)
	require.NoError(t, s.Publish(t.Context(), ob, order(1)))
	await(t, "it is parked", func(c *assert.CollectT) {
		n, err := s.Redrive(t.Context(), "shop/pay")
		require.NoError(c, err)
		require.Equal(c, 1, n)
	})
	awaitEffects(t, s, "pay 1")
	select {
	case msg := <-sent:
		require.Equal(t, "1", string(msg.Payload))
		msg.Ack()
	case <-time.After(patience):
		require.Fail(t, "what the handler returned is not sent")
	}
	require.EqualValues(t, 2, inner.Load())
	run.end()
}

type runner func(ctx context.Context) error

// Run implements leat.Runner.
func (r runner) Run(ctx context.Context) error { return r(ctx) }

// partFails: the end of one part ends the others, and its error is that of Run.
func partFails(t *testing.T, s Store) {
	t.Helper()
	b := broker(t)
	service := newService(t, leat.Config{Outbox: s.Outbox(t), Inbox: s.Inbox(t, inbox.Policy{}), Sink: sink(t, b)})
	newRouter(t, service).AddConsumerHandler("loyalty", "orders", b, adds(s, "loyalty"))
	broken, fail := errors.New("the disk is full"), make(chan struct{})
	run := start(t, service, runner(func(context.Context) error { <-fail; return broken }))
	require.ErrorIs(t, service.Run(t.Context()), outbox.ErrAlreadyRunning)
	close(fail)
	err := run.ended()
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "leat: servicetest.runner: ")
	require.Error(t, service.Ready(t.Context()))
}

// routerIsClosed: Run ends without an error if the router is closed from outside.
func routerIsClosed(t *testing.T, s Store) {
	t.Helper()
	b := broker(t)
	service := newService(t, leat.Config{Outbox: s.Outbox(t), Inbox: s.Inbox(t, inbox.Policy{}), Sink: sink(t, b)})
	router := newRouter(t, service)
	router.AddConsumerHandler("loyalty", "orders", b, adds(s, "loyalty"))
	run := start(t, service)
	require.NoError(t, router.Close())
	require.NoError(t, run.ended())
}

// handlerMayFinish: the handler that is running when the service is stopped can commit.
func handlerMayFinish(t *testing.T, s Store) {
	t.Helper()
	b := one{message.NewMessage(watermill.NewUUID(), []byte("1"))}
	service := newService(t, leat.Config{Inbox: s.Inbox(t, inbox.Policy{})})
	began, goOn := make(chan struct{}), make(chan struct{})
	newRouter(t, service).AddConsumerHandler("loyalty", "orders", b, func(msg *message.Message) error {
		close(began)
		<-goOn
		return adds(s, "loyalty")(msg)
	})
	run := start(t, service)
	<-began
	run.stop()
	await(t, "it is told to end", func(c *assert.CollectT) { require.Error(c, service.Ready(t.Context())) })
	close(goOn)
	require.NoError(t, run.ended())
	awaitEffects(t, s, "loyalty 1")
}

// one is a subscriber with one message. As with kafkasource, its Close waits until the message is
// acknowledged, and the end of its context does not reach the message.
type one struct{ msg *message.Message }

// Subscribe implements message.Subscriber.
func (o one) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	messages := make(chan *message.Message, 1)
	messages <- o.msg
	context.AfterFunc(ctx, func() { close(messages) })
	return messages, nil
}

// Close implements message.Subscriber.
func (o one) Close() error {
	select {
	case <-o.msg.Acked():
	case <-o.msg.Nacked():
	}
	return nil
}

// endsBeforeItBegan: the service can be ended while its parts begin.
func endsBeforeItBegan(t *testing.T, s Store) {
	t.Helper()
	b := broker(t)
	service := newService(t, leat.Config{Outbox: s.Outbox(t), Inbox: s.Inbox(t, inbox.Policy{}), Sink: sink(t, b)})
	newRouter(t, service).AddConsumerHandler("loyalty", "orders", b, adds(s, "loyalty"))
	require.NoError(t, service.Run(t.Context(), runner(func(context.Context) error { return nil })))
}

// RedriveBy returns a function for Store.Redrive that redrives through a.
func RedriveBy(a interface {
	Redrive(ctx context.Context, r admin.ChangeRequest) (admin.Changed, error)
},
) func(ctx context.Context, consumer string) (int, error) {
	return func(ctx context.Context, consumer string) (int, error) {
		changed, err := a.Redrive(ctx, admin.ChangeRequest{
			By: admin.By{Actor: "ann", Reason: "the bank is open"}, Consumer: consumer, Selection: admin.Selection{OfTopic: "orders"},
		})
		return changed.Count, err
	}
}
