package daemon

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// ServeHTTP answers /livez, /readyz and /statusz, which need no sign-in, and passes all other requests to
// Config.Handler. Paths match byte for byte, so a path that only resembles a probe cannot bypass the
// sign-in of the handler.
func (d *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer func(http.ResponseWriter)
	known := d.ownHost(r.Host)
	switch r.URL.EscapedPath() {
	case "/livez":
		answer = func(w http.ResponseWriter) { probe(w, d.Live(), known) }
	case "/readyz":
		answer = func(w http.ResponseWriter) { probe(w, d.Ready(), known) }
	case "/statusz":
		answer = d.serveStatus
		if !known {
			answer = func(w http.ResponseWriter) { misdirected(w, r) }
		}
	default:
		if d.cfg.Handler == nil {
			http.NotFound(w, r)
			return
		}
		d.cfg.Handler.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	answer(w)
}

// ownHost reports whether host, as a client requested it, names this server. An address always does: unlike
// a name, it cannot be made to point to another server.
func (d *Daemon) ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	_, err := netip.ParseAddr(host)
	return err == nil || host == "localhost" || slices.ContainsFunc(d.cfg.Hosts, func(own string) bool {
		return own == "*" || strings.EqualFold(own, host)
	})
}

// misdirected refuses a request for another host.
func misdirected(w http.ResponseWriter, r *http.Request) {
	http.Error(w, fmt.Sprintf("%.100q is not in hosts, the names by which this server is reached", r.Host), http.StatusMisdirectedRequest)
}

// probe answers a probe. The answer has a reason only if the client named this server.
func probe(w http.ResponseWriter, err error, known bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok"
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		if text = "unavailable"; known {
			text = brief(err)
		}
	}
	_, _ = w.Write([]byte(text + "\n")) //nolint:gosec // plain text, and nosniff
}

func (d *Daemon) serveStatus(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d.Status())
}
