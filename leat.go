package leat

import (
	"context"
	"net/http"
	"path"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Outbox is the outbox of a Service. The Outbox types of pgoutbox, sqloutbox, dynamooutbox
// and memoutbox implement it.
//
// A Service also calls Migrate(ctx) error, RunMaintenance(ctx) error and RunNotifier(ctx) error
// if the value has them.
type Outbox interface {
	outbox.Enqueuer

	// DefaultSource returns what a relay of the group "default" reads.
	DefaultSource() (driver.Source, error)
}

// Inbox is the inbox of a Service. The Inbox types of pginbox, sqlinbox, dynamoinbox and
// meminbox implement it.
//
// A Service also calls Migrate(ctx) error and RunMaintenance(ctx) error if the value has them. An
// inbox of sqlinbox forgets nothing until its maintenance is passed to Run, since it cannot tell
// the age of an id that is not a UUID of version 7.
type Inbox interface {
	// For returns the inbox of the handler with this name.
	For(handler string) (inbox.Runner, error)
}

// Runner runs until ctx ends. *message.Router and the relays and maintenances of leat are
// Runners.
type Runner interface {
	Run(ctx context.Context) error
}

// Config names the parts of a Service. An Outbox or an Inbox is required; the zero values of the
// rest suit most services.
type Config struct {
	// Outbox stores what the service publishes. Its transactions must be those of Inbox
	// if handlers return messages. Defaults to none: the service only consumes.
	Outbox Outbox

	// Inbox makes the handlers of Service.Router take effect once. Defaults to none: the
	// service only publishes.
	Inbox Inbox

	// Sink is the broker that the relay of this process sends to; the caller closes it after Run.
	// It needs Outbox. Defaults to none: relays run in other processes, and this one notifies
	// them of its commits.
	Sink driver.Sink

	// Source is the source of the relay, with a group, slots or topics of your own. It needs Sink. Defaults
	// to Outbox.DefaultSource.
	Source driver.Source

	// Relay tunes the relay. It needs Sink.
	Relay relay.Config

	// KeyFunc gives the ordering keys of the messages that handlers return. It needs Outbox
	// and Inbox. Defaults to outbox.KeyFromMetadata.
	KeyFunc outbox.KeyFunc

	// Content opens the messages that handlers get, and encodes those that they return. Messages
	// that the service enqueues itself must go through the Enqueuer of Content. Defaults to none.
	Content *content.Content

	// NoMigrate leaves the schemas as they are, for services whose role may not change
	// them. Defaults to false: Run migrates first, one process at a time.
	NoMigrate bool

	// NoMaintenance is for services whose maintenance runs in other processes, or which pass
	// their own maintenance to Run. Without any, delayed messages are never sent and tables only
	// grow. Defaults to false.
	NoMaintenance bool
}

func (c Config) validate() error {
	switch {
	case c.Outbox == nil && c.Inbox == nil:
		return outbox.ConfigError("Config.Outbox", nil, "is required where Inbox is not set")
	case c.Sink != nil && c.Outbox == nil:
		return outbox.ConfigError("Config.Sink", "set", "has no meaning without Outbox")
	case c.Source != nil && c.Sink == nil:
		return outbox.ConfigError("Config.Source", "set", "has no meaning without Sink")
	case !reflect.ValueOf(c.Relay).IsZero() && c.Sink == nil:
		return outbox.ConfigError("Config.Relay", "set", "has no meaning without Sink")
	case c.KeyFunc != nil && (c.Outbox == nil || c.Inbox == nil):
		return outbox.ConfigError("Config.KeyFunc", "set", "has no meaning without Outbox and Inbox")
	default:
		return nil
	}
}

// Service owns the lifetime of what leat runs in one process. It is safe for concurrent
// use.
type Service struct {
	cfg   Config
	once  message.HandlerMiddleware // nil without an Inbox
	relay *relay.Relay              // nil without a Sink

	running, serving atomic.Bool

	mu      sync.Mutex
	routers []*Router
}

// New returns a Service made of the parts in cfg. It connects to nothing. Errors wrap
// outbox.ErrInvalidConfig.
func New(cfg Config) (*Service, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg}
	if cfg.Inbox != nil {
		once, err := middleware.NewInbox(middleware.InboxConfig{
			For: cfg.Inbox.For, Outbox: s.enqueuer(), KeyFunc: cfg.KeyFunc,
		})
		if err != nil {
			return nil, err
		}
		s.once = once
	}
	if cfg.Sink == nil {
		return s, nil
	}
	source := cfg.Source
	if source == nil {
		own, err := cfg.Outbox.DefaultSource()
		if err != nil {
			return nil, err
		}
		source = own
	}
	r, err := relay.New(source, cfg.Sink, cfg.Relay)
	if err != nil {
		return nil, err
	}
	s.relay = r
	return s, nil
}

// enqueuer returns where the messages that handlers return are enqueued, or a nil interface.
func (s *Service) enqueuer() outbox.Enqueuer {
	switch {
	case s.cfg.Outbox == nil:
		return nil
	case s.cfg.Content == nil:
		return s.cfg.Outbox
	default:
		return s.cfg.Content.Enqueuer(s.cfg.Outbox)
	}
}

// Ready returns nil while Run has started all parts, the routers run, and the relay works as
// leader or as standby. An unavailable broker does not matter: messages wait for it.
func (s *Service) Ready(ctx context.Context) error {
	if !s.serving.Load() {
		return errNotServing
	}
	for _, r := range s.list() {
		if !r.IsRunning() { // a router that has ended has ended the service; IsClosed would wait for its handlers
			return errRouterStarts
		}
	}
	if s.relay == nil {
		return ctx.Err()
	}
	return s.relay.Health(ctx)
}

// Handler answers /livez and /readyz below any path, for the probes of Kubernetes:
//
//	http.Handle("/leat/", service.Handler())
//
// /readyz answers 200 if Ready returns nil. /livez answers 503 only if the relay is stuck at a
// record although its broker answers, which a restart may fix. A probe does not state the reason:
// the log and the metrics do.
func (s *Service) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		switch path.Base(r.URL.Path) {
		case "livez":
			err = s.live(r.Context())
		case "readyz":
			err = s.Ready(r.Context())
		default:
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		if err != nil {
			http.Error(w, "unavailable", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
}
