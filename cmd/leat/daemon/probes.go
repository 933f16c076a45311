package daemon

import (
	"encoding/json"
	"net/http"
)

// ServeHTTP answers /livez, /readyz and /statusz, which need no sign-in, and leaves all
// other requests to Config.Handler. Paths match as they are: nothing that only looks like
// a probe passes around the sign-in of the handler.
func (d *Daemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer func(http.ResponseWriter)
	switch r.URL.EscapedPath() {
	case "/livez":
		answer = func(w http.ResponseWriter) { probe(w, d.Live()) }
	case "/readyz":
		answer = func(w http.ResponseWriter) { probe(w, d.Ready()) }
	case "/statusz":
		answer = d.serveStatus
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

// probe answers a probe.
func probe(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	text := "ok"
	if err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = brief(err)
	}
	_, _ = w.Write([]byte(text + "\n")) //nolint:gosec // plain text, and nosniff
}

func (d *Daemon) serveStatus(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d.Status())
}
