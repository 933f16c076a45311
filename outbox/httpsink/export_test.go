package httpsink

import (
	"net"
	"net/netip"
	"time"
)

// NewResolved is New with a resolver of names.
func NewResolved(endpoints Endpoints, cfg Config, r *net.Resolver) (*Sink, error) {
	return newSink(endpoints, cfg, r)
}

// Refuse returns what the guard says of an address.
func (c Config) Refuse(addr netip.Addr) error { return c.refuse(addr) }

// RetryAfter reads the header.
func RetryAfter(text string, now time.Time) (time.Duration, bool) { return retryAfter(text, now) }

var ErrAddress = errAddress
