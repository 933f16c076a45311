package dashboard

import (
	"context"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Dashboard is the API and the pages. It is an http.Handler, and safe for concurrent use.
type Dashboard struct {
	cfg     Config
	handler http.Handler
	hosts   map[string]bool
	sampler *sampler
	// pages are the templates of all pages, by their format of times.
	pages   map[string]map[string]*template.Template
	actions []action
	// requests and streams bound the concurrent requests and streams, by Identity.class.
	requests, streams map[Role]*turns
}

var _ http.Handler = (*Dashboard)(nil)

// New returns a Dashboard. It does not access any store before its first request or Run. Errors
// wrap outbox.ErrInvalidConfig.
func New(cfg Config) (*Dashboard, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	d := &Dashboard{cfg: cfg, hosts: map[string]bool{}, sampler: newSampler(cfg), actions: actions(), requests: turnsOf(mostRequests), streams: turnsOf(mostStreams)}
	for _, host := range cfg.Hosts {
		d.hosts[strings.ToLower(strings.Trim(host, "[]"))] = true
	}
	var err error
	if d.pages, err = parsePages(); err != nil {
		return nil, err
	}
	d.handler = d.guard(http.StripPrefix(strings.TrimSuffix(cfg.Base, "/"), d.cleaned(d.mux())))
	return d, nil
}

// ServeHTTP implements http.Handler. Streams of figures end with the context of their request:
// let http.Server.BaseContext return one that ends when the server shuts down.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.handler.ServeHTTP(w, r)
}

// Run samples figures every 10 s until ctx ends, and returns nil then. Without it they are
// sampled only while a page is open, and the charts begin then. It may run once at a time.
func (d *Dashboard) Run(ctx context.Context) error { return d.sampler.run(ctx) }

// route is a route of the API or of a page. A route that changes something needs a role beyond
// RolePayload.
type route struct {
	pattern string
	role    Role
	serve   func(c *call) error
}

// changes reports whether the route changes something.
func (r route) changes() bool { return strings.HasPrefix(r.pattern, "POST ") }

// routes returns all routes of the API and the pages.
func (d *Dashboard) routes() []route {
	return slices.Concat(d.apiRoutes(), d.changeRoutes(), d.pageRoutes())
}

func (d *Dashboard) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, r := range d.routes() {
		if d.cfg.ReadOnly && r.changes() {
			continue
		}
		mux.HandleFunc(r.pattern, d.serve(r))
	}
	mux.HandleFunc("GET /static/{file}", serveStatic)
	mux.HandleFunc("POST /view", d.keepView)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		d.fail(r.Context(), &call{d: d, w: w, r: r}, errNoPage)
	})
	return mux
}

// cleaned redirects to the plain form of a path, below Config.Base: a ServeMux would redirect to
// the path that it sees, without the stripped prefix.
func (d *Dashboard) cleaned(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.URL.EscapedPath()
		plain := path.Clean("/" + given)
		if strings.HasSuffix(given, "/") && plain != "/" {
			plain += "/"
		}
		if plain == given {
			next.ServeHTTP(w, r)
			return
		}
		target := d.cfg.Base + plain[1:]
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		http.Redirect(w, r, target, http.StatusTemporaryRedirect) //nolint:gosec // a plain path below Base
	})
}

// serve identifies the sender before anything else is done for the request.
func (d *Dashboard) serve(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := &call{d: d, w: w, r: r}
		var err error
		if c.who, err = d.identify(r); err != nil {
			d.refuse(r.Context(), c, err)
			return
		}
		if !c.who.Has(rt.role) {
			d.fail(r.Context(), c, &roleError{rt.role})
			return
		}
		ctx := r.Context()
		if rt.pattern != streamPattern {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d.cfg.Timeout)
			defer cancel()
			turn := d.requests[c.who.class()]
			if err := turn.take(ctx); err != nil {
				d.fail(r.Context(), c, err)
				return
			}
			defer turn.end()
		}
		c.r = r.WithContext(ctx)
		query, err := parseQuery(r.URL.RawQuery)
		if err != nil {
			d.fail(r.Context(), c, err)
			return
		}
		c.q = newParams(query)
		c.left = c.room()
		if err := rt.serve(c); err != nil {
			d.fail(r.Context(), c, err)
		}
	}
}

// refuse answers a request whose sender could not be identified.
func (d *Dashboard) refuse(ctx context.Context, c *call, err error) {
	d.cfg.Logger.WarnContext(ctx, "request was refused",
		slog.String("path", c.r.URL.Path), slog.String("address", c.r.RemoteAddr), slog.Any("error", err))
	if signIn, ok := errors.AsType[*SignInError](err); ok {
		if signIn.Challenge != "" {
			c.w.Header().Set("WWW-Authenticate", signIn.Challenge)
		}
		d.fail(ctx, c, errSignIn)
		return
	}
	if errors.Is(err, ErrBusy) {
		d.fail(ctx, c, ErrBusy)
		return
	}
	d.fail(ctx, c, errForbidden)
}
