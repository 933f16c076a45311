// Package hostport checks addresses in a configuration.
package hostport

import (
	"net"
	"strconv"
	"strings"
)

// Refuse returns the first address that cannot be used, and why. An address is host:port, or a host
// alone.
func Refuse(addresses []string) (address, reason string, refused bool) {
	for _, a := range addresses {
		host, port := a, "9092"
		if h, p, err := net.SplitHostPort(a); err == nil {
			host, port = h, p
		}
		number, err := strconv.ParseUint(port, 10, 16)
		switch {
		case strings.Contains(a, "://"):
			reason = "must be host:port, without a scheme"
		case strings.ContainsAny(a, ", \t\n"):
			reason = "must be one host:port: give each address as an element of its own"
		case host == "":
			reason = "must name a host, such as localhost:9092"
		case err != nil || number == 0:
			reason = "must have a port of 1 to 65535"
		default:
			continue
		}
		return a, reason, true
	}
	return "", "", false
}
