package leat

import (
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Router is a router of Watermill whose handlers take effect once. Pass its embedded
// *message.Router to functions that take one, such as cqrs.NewEventProcessorWithConfig.
type Router struct {
	*message.Router

	mu     sync.Mutex
	inner  []message.HandlerMiddleware
	topics map[string]string // of returned messages, by handler name
}

// Router adds the inbox to r, which Run then runs. A nil r stands for a router with Watermill's
// defaults that logs to slog.Default. Each handler takes effect once per message, under its own
// name. The messages that it returns go to the Outbox, in the transaction of its effects.
//
// Add middlewares that see each attempt, such as Recoverer and PoisonQueue, to r before the call.
// Add those that work within the transaction to the returned Router: messages that operators have
// redriven pass only these. Call Router before Run. Without Config.Inbox each message fails, and
// so does Run.
func (s *Service) Router(r *message.Router) *Router {
	if r == nil {
		r, _ = message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(nil)) // refuses only bad values
	}
	router := &Router{Router: r, topics: map[string]string{}}
	once := s.once
	if once == nil {
		once = func(message.HandlerFunc) message.HandlerFunc {
			return func(*message.Message) ([]*message.Message, error) { return nil, errNoInbox }
		}
	}
	r.AddMiddleware(once)
	if s.cfg.Content != nil {
		router.AddMiddleware(s.cfg.Content.Middleware)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.routers = append(s.routers, router)
	return router
}

// AddMiddleware adds middlewares that work within the transaction of each message.
func (r *Router) AddMiddleware(m ...message.HandlerMiddleware) {
	r.mu.Lock()
	r.inner = append(r.inner, m...)
	r.mu.Unlock()
	r.Router.AddMiddleware(m...)
}

// AddHandler adds a handler whose returned messages go to the Outbox under publishTopic.
// Nothing uses publisher, which may be nil.
func (r *Router) AddHandler(
	name, subscribeTopic string, subscriber message.Subscriber,
	publishTopic string, publisher message.Publisher, handle message.HandlerFunc,
) *message.Handler {
	r.mu.Lock()
	r.topics[name] = publishTopic
	r.mu.Unlock()
	return r.Router.AddHandler(name, subscribeTopic, subscriber, publishTopic, publisher, handle)
}

// handlers returns the handlers that redriven messages run through, by their names.
func (r *Router) handlers() map[string]message.HandlerFunc {
	all := r.Handlers()
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, handle := range all {
		for _, m := range slices.Backward(r.inner) {
			handle = m(handle)
		}
		all[name] = handle
	}
	return all
}

// topic returns the topic of the messages that the handler returns, or "".
func (r *Router) topic(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.topics[name]
}

// errNoInbox is returned if a Service without an Inbox was given a router.
var errNoInbox = outbox.ConfigError("Config.Inbox", nil, "is required for Service.Router")
