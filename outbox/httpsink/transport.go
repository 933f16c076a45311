package httpsink

import (
	"net"
	"net/http"
	"time"
)

const (
	// dialTimeout bounds one connection, and its handshake.
	dialTimeout = 10 * time.Second
	// idleTimeout is below that of common load balancers, 60 s, so that they do not close a
	// connection that is about to be used.
	idleTimeout = 30 * time.Second
	// maxIdle bounds idle connections. It is above MaxConcurrent's default: a connection
	// that does not fit is closed, and the next request needs another one.
	maxIdle = 1024
	// maxAnswerHeaders bounds the headers of an answer, in bytes.
	maxAnswerHeaders = 64 << 10
)

// newTransport returns the transport of requests. It has no client around it, which would follow
// redirects. A nil resolver is the system's.
func newTransport(c *Config, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: idleTimeout, Resolver: resolver}
	if c.Proxy == nil {
		dialer.Control = c.control
	}
	t := &http.Transport{
		DialContext:            dialer.DialContext,
		Protocols:              &http.Protocols{},
		TLSHandshakeTimeout:    dialTimeout,
		IdleConnTimeout:        idleTimeout,
		MaxIdleConns:           max(maxIdle, c.MaxConcurrent),
		MaxIdleConnsPerHost:    maxConcurrency,
		MaxResponseHeaderBytes: maxAnswerHeaders,
		DisableCompression:     true, // an answer is drained without using its content
	}
	// Not HTTP/2: a request that is cut short must not arrive later, behind others of its key.
	// With HTTP/1.1 its connection is closed, with everything in flight on it. See design 6.5.
	t.Protocols.SetHTTP1(true)
	if c.Proxy != nil {
		t.Proxy = http.ProxyURL(c.Proxy)
	}
	if c.TLS != nil {
		t.TLSClientConfig = c.TLS.Clone()
	}
	return t
}
