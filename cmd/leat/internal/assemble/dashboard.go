package assemble

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/cmd/leat/internal/payload"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/cmd/leat/internal/signin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox"
)

// signInUsed is how requests to the dashboard sign in, as of the last reload.
type signInUsed struct {
	now atomic.Pointer[signin.Method]
}

func (s *signInUsed) identify(r *http.Request) (dashboard.Identity, error) { return (*s.now.Load())(r) }

// shows returns the dashboard section of the file, nil if no dashboard is served.
func (b *builder) shows() *settings.Dashboard {
	if h := b.in.Daemon.HTTP; h != nil {
		return h.Dashboard
	}
	return nil
}

// window returns the database at url for the dashboard. It has connections of its own, so that operators
// take none from relays and maintenance.
func (b *builder) window(url settings.Text) (open.Database, error) {
	address := cmp.Or(url.Value, b.in.Database)
	if db, ok := b.windows[address]; ok {
		return db, nil
	}
	db, err := open.Open(b.ctx, open.Target{URL: address, Again: b.said(url).Again, Logger: b.in.Logger})
	if err != nil {
		return nil, err
	}
	b.windows[address] = db
	b.made.closers = append(b.made.closers, closer(db.Close))
	return db, nil
}

// showOutbox and showInbox add a store that the daemon could open to the dashboard. Errors of its database
// have been reported already.
func (b *builder) showOutbox(name string, url settings.Text, target open.Target) {
	if b.shows() == nil {
		return
	}
	if db, err := b.window(url); err == nil {
		if store, err := db.Relayed(target); err == nil {
			b.shown.Outboxes[name] = store.Admin()
		}
	}
}

func (b *builder) showInbox(name string, url settings.Text, target open.Target) {
	if b.shows() == nil {
		return
	}
	if db, err := b.window(url); err == nil {
		if store, err := db.InboxAt(target); err == nil {
			b.shown.Inboxes[name] = store
		}
	}
}

// signIn reads the sign-in methods.
func (b *builder) signIn(d *settings.Dashboard) {
	method, err := signInOf(d, b.made.Config.Listen, b.in.Actor)
	if err != nil {
		b.refused(d.At, d, err)
		return
	}
	b.made.signIn = &signInUsed{}
	b.made.signIn.now.Store(&method)
}

func signInOf(d *settings.Dashboard, listen, actor string) (signin.Method, error) {
	allow := texts(d.Allow)
	if len(allow) == 0 {
		for _, role := range dashboard.Roles() {
			allow = append(allow, string(role))
		}
	}
	method, err := signin.New(signin.Config{
		Listen: listen, Hosts: texts(d.Hosts), Actor: actor, Allow: allow, Basic: d.Basic.Value, Bearer: d.Bearer.Value,
		Proxy: signin.ProxyConfig{
			Peers: texts(d.ProxyPeers), Roles: texts(d.ProxyRoles),
			UserHeader: cmp.Or(d.ProxyUser.Value, "X-Forwarded-User"), GroupsHeader: cmp.Or(d.ProxyGroup.Value, "X-Forwarded-Groups"),
		},
	}, func(name string) string { return name })
	if wrong, ok := errors.AsType[*signin.ConfigError](err); ok {
		return nil, outbox.ConfigError(wrong.Setting, wrong.Value, wrong.Err.Error())
	}
	return method, err
}

// dashboard builds the dashboard, with all stores of the daemon.
func (b *builder) dashboard(d *settings.Dashboard) {
	if b.made.Config.Listen == "" {
		b.missing(b.in.Daemon.HTTP.At, "listen", "the dashboard needs an address")
		return
	}
	b.signIn(d)
	if b.made.signIn == nil || len(b.shown.Outboxes)+len(b.shown.Inboxes) == 0 {
		return // the errors have been reported
	}
	reader := b.payloads(d)
	if reader == nil {
		return
	}
	redact := dashboard.DefaultRedaction()
	if len(d.HideHeaders) > 0 {
		redact.Headers = texts(d.HideHeaders)
	}
	redact.Paths = texts(d.HidePaths)
	cfg := b.shown
	cfg.Decoders, cfg.Breakers = []dashboard.Decoder{{Topics: "*", Decode: reader.Show}}, b.made.breakers
	cfg.Base, cfg.Hosts, cfg.ReadOnly = d.Base.Value, texts(d.Hosts), b.yes(d.ReadOnly)
	cfg.TraceURL = d.TraceURL.Value
	cfg.Redact, cfg.Authorize, cfg.Logger = &redact, b.made.signIn.identify, b.in.Logger
	made, err := dashboard.New(cfg)
	if err != nil {
		b.refused(d.At, d, inFileError{err})
		return
	}
	b.made.Config.Handler = made
}

// payloads returns the reader of payloads, nil if one of its settings is wrong.
func (b *builder) payloads(d *settings.Dashboard) *payload.Reader {
	said := b.in.Settings
	reader, err := payload.New(payload.Sources{
		Registry: said.Registry.Value, Keys: said.Keys.Value, Descriptors: d.Descriptors.Value, Protobuf: texts(d.Protobuf),
	})
	wrong, ok := errors.AsType[*payload.ConfigError](err)
	switch {
	case !ok:
		return reader
	case wrong.Setting == "registry":
		b.wrong(said.Registry, wrong.Reason())
	case wrong.Setting == "keys":
		b.wrong(said.Keys, wrong.Reason())
	default:
		b.refused(d.At, d, outbox.ConfigError(fmt.Sprintf("%s[%d]", wrong.Setting, wrong.Index), fmt.Sprintf("%.200q", wrong.Value), wrong.Err.Error()))
	}
	return nil
}

// inFileError is an error of the library with the field names of the file.
type inFileError struct{ error }

func (e inFileError) Error() string {
	return strings.NewReplacer("Redact.Headers", "HideHeaders", "Redact.Paths", "HidePaths").Replace(e.error.Error())
}
