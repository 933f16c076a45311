package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/relay"
)

// Config lists what a daemon runs. At least one relay or maintenance is required.
type Config struct {
	// Relays are run side by side. No two may have the same outbox and group.
	Relays []Relay

	// Maintenance runs next to the relays.
	Maintenance []Maintenance

	// Databases are pinged every few seconds. The daemon is not ready if one of them has not answered for
	// 30 s. Defaults to none.
	Databases []Database

	// Sampler, if set, runs as well, so that metrics show lag and backlog. Defaults to none.
	Sampler *metrics.Sampler

	// Listen is the address of the probes, host:port. Defaults to none.
	Listen string

	// TLS is for HTTPS on Listen. Defaults to HTTP.
	TLS *tls.Config

	// Handler serves the requests to Listen that are not probes. It must authenticate them itself. If it is
	// a Runner, such as *dashboard.Dashboard, it runs next to the parts. Defaults to 404.
	Handler http.Handler

	// MetricsListen is the address of MetricsHandler's path /metrics. Both or none is set.
	// Defaults to none.
	MetricsListen  string
	MetricsHandler http.Handler

	// Hosts are the names, without a port, under which /statusz and /metrics answer, in addition to
	// localhost and addresses. A request for another name is answered with 421, and its probes without a
	// reason. So a foreign page whose name was made to resolve to this server reads nothing. "*" allows any
	// name. Handler sees all requests. Defaults to none.
	Hosts []string

	// RetryUnusable is the time between attempts to start a part that an operator must repair: its source
	// is unusable, or its schema is missing. The daemon checks every second whether it is repaired, and
	// then starts it at once. Other parts keep running. Defaults to 30 s.
	RetryUnusable time.Duration

	// NotifySocket is the socket of the service manager, NOTIFY_SOCKET of systemd. Watchdog is how often
	// the manager expects a sign of life, WATCHDOG_USEC. See FromSystemd. Both default to none.
	NotifySocket string
	Watchdog     time.Duration

	// Logger receives what an operator should know. Defaults to slog.Default() as of New,
	// warnings and errors only; slog.New(slog.DiscardHandler) silences it.
	Logger *slog.Logger
}

// Relay is a relay of the daemon.
type Relay struct {
	// Outbox and Group name it in the status. Both are required.
	Outbox, Group string
	// Source and Sink are the ends of the relay. The daemon closes neither.
	Source driver.Source
	Sink   driver.Sink
	// Config is the configuration of the relay. A *metrics.Relay among its Hooks also watches the relay.
	Config relay.Config
}

// Runner is a maintenance, or a Handler with background work.
type Runner interface {
	// Run works until ctx ends, and returns nil then.
	Run(ctx context.Context) error
}

// Database is a database that the daemon pings.
type Database struct {
	// Name is shown in the status. Required.
	Name string
	// Ping returns nil if the database answers. Required.
	Ping func(ctx context.Context) error
}

func (c Config) withDefaults() Config {
	c.RetryUnusable = cmp.Or(c.RetryUnusable, 30*time.Second)
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	if len(c.Relays)+len(c.Maintenance) == 0 {
		return outbox.ConfigError("Relays, Maintenance", "[]", "at least one is required")
	}
	for i, r := range c.Relays {
		field := fmt.Sprintf("Relays[%d]", i)
		if r.Outbox == "" || r.Group == "" {
			return outbox.ConfigError(field, r.Outbox+"/"+r.Group, "must have an Outbox and a Group")
		}
		for _, other := range c.Relays[:i] {
			if other.Outbox == r.Outbox && other.Group == r.Group {
				return outbox.ConfigError(field, r.Outbox+"/"+r.Group, "is there twice: one process needs one relay a group, whatever its slots")
			}
		}
	}
	for i, m := range c.Maintenance {
		if m.run == nil {
			return outbox.ConfigError(fmt.Sprintf("Maintenance[%d]", i), "{}", "must come from MaintainOutbox or MaintainInbox")
		}
	}
	for i, db := range c.Databases {
		if db.Name == "" || db.Ping == nil {
			return outbox.ConfigError(fmt.Sprintf("Databases[%d]", i), db.Name, "must have a Name and a Ping")
		}
	}
	return c.validateListeners()
}

func (c Config) validateListeners() error {
	for field, address := range map[string]string{"Listen": c.Listen, "MetricsListen": c.MetricsListen} {
		if address == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(address); err != nil {
			return outbox.ConfigError(field, address, "must be host:port")
		}
	}
	switch {
	case (c.MetricsListen == "") != (c.MetricsHandler == nil):
		return outbox.ConfigError("MetricsListen, MetricsHandler", c.MetricsListen, "both or none must be set")
	case c.Handler != nil && c.Listen == "":
		return outbox.ConfigError("Handler", "a handler", "needs Listen")
	case c.TLS != nil && c.Listen == "":
		return outbox.ConfigError("TLS", "a configuration", "needs Listen")
	case c.RetryUnusable < 0:
		return outbox.ConfigError("RetryUnusable", c.RetryUnusable, "must not be negative")
	case c.Watchdog < 0:
		return outbox.ConfigError("Watchdog", c.Watchdog, "must not be negative")
	}
	return nil
}
