package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy allows only what the dashboard's own pages need, and nothing inline or from other sites.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// guard refuses requests from other sites, and sets the headers that restrict pages in browsers.
func (d *Dashboard) guard(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		// With no-referrer, browsers would send forms with the origin "null", which is refused.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		c := &call{d: d, w: w, r: r}
		if !d.ownHost(r.Host) {
			d.fail(r.Context(), c, &hostError{r.Host})
			return
		}
		if err := origin.Check(r); err != nil {
			d.fail(r.Context(), c, errCrossOrigin)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether host is a name of this server.
func (d *Dashboard) ownHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if len(d.hosts) > 0 {
		return d.hosts["*"] || d.hosts[host]
	}
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
