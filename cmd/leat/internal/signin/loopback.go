package signin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/leat-go/leat/middleware/dashboard"
)

// Loopback identifies all clients on this machine as actor. It refuses requests that a proxy has passed on,
// since their client is not known.
func Loopback(actor string, roles []dashboard.Role) Method {
	return func(r *http.Request) (dashboard.Identity, error) {
		peer, err := peerOf(r)
		if err != nil {
			return dashboard.Identity{}, err
		}
		if !peer.IsLoopback() {
			return dashboard.Identity{}, fmt.Errorf("%s is not on this machine", peer)
		}
		if name := forwarded(r.Header); name != "" {
			return dashboard.Identity{}, fmt.Errorf("a proxy has passed the request on, as its header %.100q says: this needs a sign-in", name)
		}
		return dashboard.Identity{Actor: actor, Roles: roles, Mode: "loopback"}, nil
	}
}

// forwarded returns the name of a header that proxies add, "" if there is none.
func forwarded(h http.Header) string {
	for name := range h {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return name
		}
	}
	return ""
}

// IsLoopback reports whether a listener on address can be reached from this machine only.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && IsLocal(host)
}

// IsLocal reports whether host is a name that always leads browsers to their own machine. Any other name
// can be made to resolve to this server, so that a foreign page could send requests to it.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
