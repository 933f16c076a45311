package leat

import (
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// Router is a router of Watermill whose handlers take effect once. Give its embedded
// *message.Router to what asks for one, such as cqrs.NewEventProcessorWithConfig.
type Router struct {
	*message.Router

	mu     sync.Mutex
	inner  []message.HandlerMiddleware
	topics map[string]string // of what handlers return, by their names
}

// Router adds the inbox to r, and has Run run it; nil is a router of Watermill's defaults that
// logs to slog.Default. Each handler takes effect once for a
// message, under its own name. What it returns goes to the Outbox, in the transaction of
// its effects.
//
// Add middlewares that see each attempt, such as Recoverer and PoisonQueue, to r before,
// and those that work within the transaction to the Router that is returned: messages
// that operators have redriven pass the second alone. Call it before Run. Without
// Config.Inbox each message fails, and so does Run.
func (s *Service) Router(r *message.Router) *Router {
	if r == nil {
		r, _ = message.NewRouter(message.RouterConfig{}, watermill.NewSlogLogger(nil)) // refuses bad values alone
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

// topic returns where messages go that the handler returns, or "".
func (r *Router) topic(name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.topics[name]
}

// errNoInbox is returned where a Service without an Inbox was given a router.
var errNoInbox = outbox.ConfigError("Config.Inbox", nil, "is required for Service.Router")
