package signin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/leat-go/leat/middleware/dashboard"
)

// Loopback takes everybody on this machine for actor. A request that a proxy has passed on is
// refused: whoever is behind it is not known.
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

// IsLoopback reports whether listening on address is reached from this machine alone.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && IsLocal(host)
}

// IsLocal reports whether host is a name that browsers on this machine alone resolve to this
// server: any other can be made to point here, and then a foreign page is taken for it.
func IsLocal(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}
