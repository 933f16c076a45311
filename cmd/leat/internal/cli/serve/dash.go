package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/signin"
	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/middleware/dashboard"
	"github.com/leat-go/leat/outbox/admin"
)

// Dash is the command dash.
type Dash struct {
	Listen      string   `default:"127.0.0.1:8470" placeholder:"ADDRESS" help:"Where it listens. Beyond this machine it needs a sign-in and --host."`
	Base        string   `default:"/" placeholder:"PATH" help:"Path behind a proxy, with slashes at both ends."`
	Host        []string `placeholder:"NAME" help:"Name by which browsers reach it, without a port; repeat it."`
	ReadOnly    bool     `help:"Allow no changes."`
	Allow       []string `default:"viewer,payload,operator,admin" placeholder:"ROLE" help:"Roles without a sign-in, on this machine."`
	Basic       string   `placeholder:"FILE" help:"Sign in by password. Lines are NAME:BCRYPT:ROLES." predictor:"file"`
	Bearer      string   `placeholder:"FILE" help:"Sign in programs by token. Lines are NAME:SHA256:ROLES." predictor:"file"`
	ProxyPeer   []string `placeholder:"ADDRESS" help:"Proxies trusted to name the user, such as 10.0.0.7 or 10.1.0.0/16."`
	ProxyUser   string   `default:"X-Forwarded-User" placeholder:"HEADER" help:"Their header with the user."`
	ProxyGroup  string   `default:"X-Forwarded-Groups" placeholder:"HEADER" help:"Their header with the user's groups."`
	ProxyRole   []string `placeholder:"GROUP=ROLE" help:"Roles of a group's members."`
	TLSCert     string   `placeholder:"FILE" help:"Certificate for HTTPS, PEM." predictor:"file"`
	TLSKey      string   `placeholder:"FILE" help:"Its key, PEM." predictor:"file"`
	HideHeader  []string `placeholder:"PATTERN" help:"Headers to hide. Defaults to those that carry secrets."`
	HidePath    []string `placeholder:"PATH" help:"Members of JSON to hide, such as customer.email or **.card."`
	TraceURL    string   `name:"trace-url" placeholder:"URL" help:"URL of a trace, with {id}, for links from headers traceparent."`
	Descriptors string   `placeholder:"FILE" help:"Descriptor set, by protoc --include_imports --descriptor_set_out." predictor:"file"`
	Protobuf    []string `placeholder:"TOPICS=MESSAGE" help:"Message types by topic, such as orders.*=shop.v1.Order."`
}

// Run serves the dashboard until it is interrupted.
func (s *Dash) Run(d *command.Deps) error {
	if err := s.check(); err != nil {
		return err
	}
	authorize, err := s.signIn(d)
	if err != nil {
		return err
	}
	reader, err := d.Payloads(s.Descriptors, s.Protobuf)
	if err != nil {
		return err
	}
	redact := dashboard.DefaultRedaction()
	if len(s.HideHeader) > 0 {
		redact.Headers = s.HideHeader
	}
	redact.Paths = s.HidePath
	cfg := dashboard.Config{
		Base: s.Base, Hosts: s.Host, ReadOnly: s.ReadOnly, Redact: &redact, Authorize: authorize, Logger: d.Logger, TraceURL: s.TraceURL,
		Decoders: []dashboard.Decoder{{Topics: "*", Decode: reader.Show}}, Outboxes: map[string]admin.Outbox{}, Inboxes: map[string]inboxadmin.Inbox{},
	}
	if err := stores(d, &cfg); err != nil {
		return err
	}
	handler, err := dashboard.New(cfg)
	if err != nil {
		return err
	}
	return s.serve(d, handler)
}

// check rejects invalid flags before anything is opened.
func (s *Dash) check() error {
	if _, _, err := net.SplitHostPort(s.Listen); err != nil {
		return command.Usage("--listen", s.Listen, "must be host:port")
	}
	if !strings.HasPrefix(s.Base, "/") || !strings.HasSuffix(s.Base, "/") {
		return command.Usage("--base", s.Base, "must begin and end with a slash")
	}
	for _, host := range s.Host {
		if host == "" || strings.ContainsAny(host, "/ ") {
			return command.Usage("--host", host, "must be a name or an address, without a port")
		}
	}
	for _, pattern := range s.HideHeader {
		if strings.TrimSpace(pattern) == "" {
			return command.Usage("--hide-header", pattern, "must name a header: it would hide none, instead of those that carry secrets")
		}
	}
	for _, path := range s.HidePath {
		if path == "" || strings.HasSuffix(path, "**") || strings.Contains("."+path+".", "..") {
			return command.Usage("--hide-path", path, "must be names separated by dots, the last one not **")
		}
	}
	if u, err := url.Parse(s.TraceURL); s.TraceURL != "" && (err != nil || u.Host == "" || !strings.Contains(s.TraceURL, "{id}")) {
		return command.Usage("--trace-url", s.TraceURL, "must be an address of https or http with {id}")
	}
	switch {
	case s.TLSCert != "" && s.TLSKey == "":
		return command.Usage("--tls-cert", s.TLSCert, "goes with --tls-key")
	case s.TLSKey != "" && s.TLSCert == "":
		return command.Usage("--tls-key", s.TLSKey, "goes with --tls-cert")
	}
	return nil
}

// signIn returns the sign-in method.
func (s *Dash) signIn(d *command.Deps) (signin.Method, error) {
	method, err := signin.New(signin.Config{
		Listen: s.Listen, Hosts: s.Host, Actor: d.ActorHere(), Allow: s.Allow, Basic: s.Basic, Bearer: s.Bearer,
		Proxy: signin.ProxyConfig{Peers: s.ProxyPeer, UserHeader: s.ProxyUser, GroupsHeader: s.ProxyGroup, Roles: s.ProxyRole},
	}, flagOf)
	if wrong, ok := errors.AsType[*signin.ConfigError](err); ok {
		return nil, command.Usage(wrong.Setting, wrong.Value, wrong.Err.Error())
	}
	return method, err
}

// flagOf returns the flag for a setting of the file, such as --proxy-peer for proxy_peers.
func flagOf(setting string) string {
	return "--" + strings.TrimSuffix(strings.ReplaceAll(setting, "_", "-"), "s")
}

// stores adds the outboxes and inboxes of the file to cfg. If the settings name an outbox, it adds only that one and
// the inbox, as far as their tables exist. If the file lists no inboxes, the inbox of its database is added, provided
// that it sets one for all.
func stores(d *command.Deps, cfg *dashboard.Config) error {
	if len(d.OutboxNames()) > 0 && !d.Globals.Settings().Outbox.Set() {
		outboxes, err := d.OutboxesOfFile()
		if err != nil {
			return err
		}
		maps.Copy(cfg.Outboxes, outboxes)
		inboxes, err := d.InboxesOfFile()
		if err != nil {
			return err
		}
		maps.Copy(cfg.Inboxes, inboxes)
		if _, err := d.DatabaseURL(); err != nil || len(inboxes) > 0 {
			return nil //nolint:nilerr // each outbox has a database of its own
		}
	}
	db, err := d.Open()
	if err != nil {
		return err
	}
	missing := func(name string) (bool, error) {
		component, err := db.Component(name)
		if err != nil {
			return false, err
		}
		current, _, err := component.Status(d.Context)
		return current == 0, err
	}
	if len(cfg.Outboxes) > 0 {
		// Only those of the file are shown.
	} else if ob, err := db.Outbox(); err != nil {
		return err
	} else if absent, err := missing("outbox"); err != nil {
		return err
	} else if !absent || d.Settings.Forwarder.Value != "" {
		cfg.Outboxes[cmp.Or(d.Named, d.Settings.Outbox.Value)] = ob
	}
	in, err := db.Inbox()
	if err != nil {
		return err
	}
	absent, err := missing("inbox")
	if err == nil && !absent {
		cfg.Inboxes[d.Settings.Inbox.Value] = in
	}
	if err == nil && len(cfg.Outboxes)+len(cfg.Inboxes) == 0 {
		return fmt.Errorf("%w: the database has neither an outbox nor an inbox", command.ErrNothing)
	}
	return err
}

// Bounds of how long a server waits for clients.
const (
	headerTimeout = 10 * time.Second
	writeTimeout  = time.Minute
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 5 * time.Second
)

func (s *Dash) serve(d *command.Deps, handler *dashboard.Dashboard) error {
	listener, err := new(net.ListenConfig).Listen(d.Context, "tcp", s.Listen)
	if err != nil {
		return command.Usage("--listen", s.Listen, err.Error())
	}
	ctx, cancel := context.WithCancel(d.Context)
	defer cancel()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: writeTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends the streams
	}
	scheme, serve := "http", func() error { return server.Serve(listener) }
	if s.TLSCert != "" {
		scheme, serve = "https", func() error { return server.ServeTLS(listener, s.TLSCert, s.TLSKey) }
	}
	if err := d.Line("dashboard at %s://%s%s", scheme, listener.Addr(), s.Base); err != nil {
		return errors.Join(err, listener.Close())
	}
	sampling := make(chan error, 1)
	go func() { sampling <- handler.Run(ctx) }()
	served := make(chan error, 1)
	go func() { served <- serve() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer stop()
		err = server.Shutdown(stopping)
		if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
			err = errors.Join(err, ended)
		}
	}
	cancel()
	return errors.Join(err, <-sampling)
}
