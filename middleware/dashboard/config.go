package dashboard

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/logger"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/relay"
)

// Config decides what is shown, and to whom. At least one outbox or inbox, and Authorize, are
// required.
type Config struct {
	// Outboxes and Inboxes are the stores, by names of your choice of up to 100 bytes.
	Outboxes map[string]admin.Outbox
	Inboxes  map[string]inboxadmin.Inbox

	// Authorize returns the identity of the sender of a request. It is called for every request
	// except those for static files, from any goroutine. An error refuses the request, see
	// SignInError.
	Authorize func(r *http.Request) (Identity, error)

	// Base is the path under which it is mounted, such as "/ops/leat/".
	// Defaults to "/".
	Base string

	// Hosts are the names by which browsers may reach it, without a port. Requests for other
	// hosts are refused, so that a foreign page whose name was made to resolve to this server
	// cannot read anything. "*" allows any host, for servers whose sign-in is bound to a name, as
	// with cookies. Defaults to localhost and addresses of the loopback interface.
	Hosts []string

	// ReadOnly leaves all changes out: their routes do not exist.
	// Defaults to false.
	ReadOnly bool

	// Breakers returns the destinations to which relays of this process currently do not send,
	// for a group of an outbox: State().Out of its relay. Those of other processes are not known
	// here. It is called whenever groups are shown, from any goroutine, and should be fast.
	// Defaults to none.
	Breakers func(outbox, group string) []relay.BreakerState

	// Decoders make payloads readable. The first one whose Topics match is asked.
	// Defaults to none: JSON, text and hex are shown.
	Decoders []Decoder

	// Redact lists the data that no user sees. Defaults to headers that carry secrets, see
	// DefaultRedaction.
	Redact *Redaction

	// TraceURL is the address of a trace in a viewer of traces, https or http, with {id} for the id of the trace:
	// the header traceparent of a message becomes a link.
	// Defaults to none.
	TraceURL string

	// OnView is called before a payload is shown or sent as a file, for services that must record
	// who saw what: viewing writes nothing into a store. It is called from any goroutine, with
	// the request's context. Its error is logged, and nothing is shown: the answer is 500.
	// Defaults to none: views are logged.
	OnView func(ctx context.Context, v View) error

	// MaxShown is how many bytes of a payload a page shows, 1 to 10 MiB. A download contains all
	// of it. Defaults to 64 KiB.
	MaxShown int

	// Timeout bounds each request except the stream of figures. At least 1 ms. Defaults to 30 s.
	Timeout time.Duration

	// Logger receives errors of stores and refused requests as warnings, changes and views of payloads as Info.
	// Defaults to slog.Default() as of New, warnings and errors only.
	Logger *slog.Logger
}

const (
	defaultMaxShown = 64 << 10
	mostShown       = 10 << 20
	mostNameBytes   = 100
	// traceID stands for the id of a trace in Config.TraceURL.
	traceID = "{id}"
)

func (c Config) withDefaults() Config {
	c.Base = cmp.Or(c.Base, "/")
	c.MaxShown = cmp.Or(c.MaxShown, defaultMaxShown)
	c.Timeout = cmp.Or(c.Timeout, 30*time.Second)
	if c.Redact == nil {
		redact := DefaultRedaction()
		c.Redact = &redact
	}
	c.Logger = logger.Or(c.Logger)
	return c
}

func (c Config) validate() error {
	switch {
	case len(c.Outboxes)+len(c.Inboxes) == 0:
		return outbox.ConfigError("Outboxes", "{}", "at least one outbox or inbox is required")
	case c.Authorize == nil:
		return outbox.ConfigError("Authorize", nil, "is required")
	case !strings.HasPrefix(c.Base, "/") || !strings.HasSuffix(c.Base, "/") || strings.ContainsAny(c.Base, "{}?#% \"'<>"):
		return outbox.ConfigError("Base", fmt.Sprintf("%q", c.Base), "must begin and end with a slash, and be a plain path")
	case c.TraceURL != "" && !validTraceURL(c.TraceURL):
		return outbox.ConfigError("TraceURL", fmt.Sprintf("%.200q", c.TraceURL), "must be an address of https or http with {id}")
	case c.MaxShown < 1 || c.MaxShown > mostShown:
		return outbox.ConfigError("MaxShown", c.MaxShown, "must be 1 to 10485760")
	case c.Timeout < time.Millisecond:
		return outbox.ConfigError("Timeout", c.Timeout, "must be at least 1ms")
	}
	for name, o := range c.Outboxes {
		if err := validStore("Outboxes", name, o == nil); err != nil {
			return err
		}
	}
	for name, in := range c.Inboxes {
		if err := validStore("Inboxes", name, in == nil); err != nil {
			return err
		}
	}
	for i, decoder := range c.Decoders {
		if decoder.Topics == "" || decoder.Decode == nil {
			return outbox.ConfigError(fmt.Sprintf("Decoders[%d]", i), fmt.Sprintf("%q", decoder.Topics), "Topics and Decode are required")
		}
	}
	for i, host := range c.Hosts {
		if host == "" || strings.ContainsAny(host, "/ ") || strings.Contains(host, ":") && strings.Count(host, ":") < 2 {
			return outbox.ConfigError(fmt.Sprintf("Hosts[%d]", i), fmt.Sprintf("%q", host), "must be a name or an address, without a port")
		}
	}
	return c.Redact.validate()
}

func validTraceURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && strings.Contains(text, traceID)
}

func validStore(field, name string, isNil bool) error {
	if name == "" || len(name) > mostNameBytes || !utf8.ValidString(name) {
		return outbox.ConfigError(field, fmt.Sprintf("%.120q", name), "a name must be valid UTF-8 of 1 to 100 bytes")
	}
	if isNil {
		return outbox.ConfigError(field+"["+name+"]", nil, "must not be nil")
	}
	return nil
}
