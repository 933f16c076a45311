package middleware_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/components/cqrs"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
	handlers "github.com/leat-go/leat/internal/onehandler/routed"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// sentTo returns the message called id as the router's handler called handler gets it.
func sentTo(t *testing.T, handler, id string) *message.Message {
	t.Helper()
	msg, err := handlers.Message(t.Context(), handler, id)
	require.NoError(t, err)
	return msg
}

// TestN1_TwoHandlersBehindOneInbox: A1. The second handler's message is not a duplicate,
// and from then on neither handler gets an ack.
func TestN1_TwoHandlersBehindOneInbox(t *testing.T) {
	t.Parallel()
	var ran []string
	wrap := must(middleware.NewInbox(middleware.InboxConfig{Processor: newInbox(t)}))
	handle := func(msg *message.Message) ([]*message.Message, error) {
		ran = append(ran, message.HandlerNameFromCtx(msg.Context())+" "+msg.UUID)
		return nil, nil
	}
	points, mail := wrap(handle), wrap(handle)

	_, err := points(sentTo(t, "points", "1"))
	require.NoError(t, err)
	_, err = mail(sentTo(t, "mail", "1"))
	require.ErrorIs(t, err, inbox.ErrTwoHandlers)
	require.ErrorContains(t, err, `"points" and "mail"`)
	require.False(t, inbox.ShouldPoison(err), "the messages are not at fault")
	_, err = points(sentTo(t, "points", "2"))
	require.ErrorIs(t, err, inbox.ErrTwoHandlers, "after a restart the other one may be the first")
	require.Equal(t, []string{"points 1"}, ran)
}

// TestN1_TwoHandlersAreNoAttempt: A1. A policy does not take the wiring for a fault of
// the message.
func TestN1_TwoHandlersAreNoAttempt(t *testing.T) {
	t.Parallel()
	store := &meminbox.Store{}
	in, err := meminbox.New("loyalty", meminbox.Config{
		Store:  store,
		Config: inbox.Config{BusyDelay: inbox.NoDelay, OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 1}},
	})
	require.NoError(t, err)
	h := must(middleware.NewInbox(middleware.InboxConfig{Processor: in}))(func(*message.Message) ([]*message.Message, error) { return nil, nil })
	_, err = h(sentTo(t, "points", "1"))
	require.NoError(t, err)
	for range 3 {
		_, err = h(sentTo(t, "mail", "2"))
		require.ErrorIs(t, err, inbox.ErrTwoHandlers)
	}
}

// tally counts what ran, by handler and message.
type tally struct {
	mu   sync.Mutex
	ran  map[string]int
	all  chan struct{}
	want int
}

func newTally(want int) *tally {
	return &tally{ran: map[string]int{}, all: make(chan struct{}), want: want}
}

func (c *tally) add(ctx context.Context, what string) {
	meminbox.OnCommit(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ran[what]++; len(c.ran) == c.want && c.ran[what] == 1 {
			close(c.all)
		}
	})
}

func (c *tally) wait(t *testing.T) {
	t.Helper()
	select {
	case <-c.all:
	case <-time.After(time.Minute):
		t.Errorf("ran %d of %d", len(c.ran), c.want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, n := range c.ran {
		require.Equal(t, 1, n, what)
	}
}

// wiring is a router with an inbox for each handler in one line.
type wiring struct {
	router *message.Router
	pubsub *gochannel.GoChannel
}

func newWiring(t *testing.T) wiring {
	t.Helper()
	in, err := meminbox.New("shop", meminbox.Config{Config: inbox.Config{BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	pubsub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, nil)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	router.AddMiddleware(must(middleware.NewInbox(middleware.InboxConfig{For: in.For})))
	return wiring{router, pubsub}
}

func (w wiring) run(t *testing.T, c *tally) {
	t.Helper()
	stopped := make(chan error, 1)
	go func() { stopped <- w.router.Run(context.Background()) }()
	c.wait(t)
	require.NoError(t, w.router.Close())
	require.NoError(t, <-stopped)
	require.NoError(t, w.pubsub.Close())
}

// TestN1_AnInboxForEachHandler: A1. Two handlers on one topic, one line for both, each
// message delivered twice: each handler runs once for each.
func TestN1_AnInboxForEachHandler(t *testing.T) {
	t.Parallel()
	w, c := newWiring(t), newTally(200)
	for _, name := range []string{"points", "mail"} {
		w.router.AddConsumerHandler(name, "orders", w.pubsub, func(msg *message.Message) error {
			c.add(msg.Context(), name+" "+msg.UUID)
			return nil
		})
	}
	for i := range 100 {
		for range 2 {
			require.NoError(t, w.pubsub.Publish("orders", message.NewMessage(strconv.Itoa(i), nil)))
		}
	}
	w.run(t, c)
}

type placed struct{ ID string }

// TestN1_CQRSEventHandlers: A1. Each of an EventProcessor's handlers has an inbox of its own.
func TestN1_CQRSEventHandlers(t *testing.T) {
	t.Parallel()
	w, c := newWiring(t), newTally(40)
	events, err := cqrs.NewEventProcessorWithConfig(w.router, cqrs.EventProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventProcessorGenerateSubscribeTopicParams) (string, error) { return "events", nil },
		SubscriberConstructor: func(cqrs.EventProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return w.pubsub, nil
		},
		Marshaler: cqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	handler := func(name string) cqrs.EventHandler {
		return cqrs.NewEventHandler(name, func(ctx context.Context, e *placed) error {
			c.add(ctx, name+" "+e.ID)
			return nil
		})
	}
	require.NoError(t, events.AddHandlers(handler("points"), handler("mail")))
	publishPlaced(t, w, 20)
	w.run(t, c)
}

// TestN1_CQRSEventGroup: A1. The handlers of a group share one handler of the router:
// both run for each message, in one transaction.
func TestN1_CQRSEventGroup(t *testing.T) {
	t.Parallel()
	w, c := newWiring(t), newTally(40)
	events, err := cqrs.NewEventGroupProcessorWithConfig(w.router, cqrs.EventGroupProcessorConfig{
		GenerateSubscribeTopic: func(cqrs.EventGroupProcessorGenerateSubscribeTopicParams) (string, error) { return "events", nil },
		SubscriberConstructor: func(cqrs.EventGroupProcessorSubscriberConstructorParams) (message.Subscriber, error) {
			return w.pubsub, nil
		},
		Marshaler: cqrs.JSONMarshaler{},
	})
	require.NoError(t, err)
	var failed sync.Map
	require.NoError(t, events.AddHandlersGroup("customers",
		cqrs.NewGroupEventHandler(func(ctx context.Context, e *placed) error {
			c.add(ctx, "points "+e.ID)
			return nil
		}),
		cqrs.NewGroupEventHandler(func(ctx context.Context, e *placed) error {
			if _, again := failed.LoadOrStore(e.ID, true); !again {
				return errors.New("undoes the points, too")
			}
			c.add(ctx, "mail "+e.ID)
			return nil
		}),
	))
	publishPlaced(t, w, 20)
	w.run(t, c)
}

func publishPlaced(t *testing.T, w wiring, n int) {
	t.Helper()
	for i := range n {
		msg, err := cqrs.JSONMarshaler{}.Marshal(placed{ID: strconv.Itoa(i)})
		require.NoError(t, err)
		for range 2 {
			require.NoError(t, w.pubsub.Publish("events", msg.Copy()))
		}
	}
}

func TestInboxForRefuses(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	calls := 0
	failing := func(string) (inbox.Runner, error) {
		if calls++; calls == 1 {
			return nil, errHandler
		}
		return in, nil
	}
	done := func(*message.Message) ([]*message.Message, error) { return nil, nil }

	h := must(middleware.NewInbox(middleware.InboxConfig{For: failing}))(done)
	_, err := h(message.NewMessage("a", nil))
	require.EqualError(t, err, "leat: InboxConfig.For needs Watermill's router, which names the handler; set Processor without one")
	_, err = h(sentTo(t, "points", "a"))
	require.ErrorIs(t, err, errHandler)
	require.ErrorContains(t, err, `"points"`)
	for range 2 {
		_, err = h(sentTo(t, "points", "a"))
		require.NoError(t, err)
	}
	require.Equal(t, 2, calls, "an inbox is made once")

	none := func(string) (inbox.Runner, error) { return nil, nil }
	_, err = must(middleware.NewInbox(middleware.InboxConfig{For: none}))(done)(sentTo(t, "points", "a"))
	require.ErrorIs(t, err, outbox.ErrInvalidConfig)
	require.ErrorContains(t, err, `inbox of handler "points"`)
	require.ErrorContains(t, err, "InboxConfig.For = <nil>: must return a Processor or an error")
	_, err = in.For("")
	require.ErrorContains(t, err, "handler")
}
