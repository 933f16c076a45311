package redissink

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// dialTimeout bounds connecting if neither the context nor the options do.
const dialTimeout = 5 * time.Second

// idleTimeout is how long an unused link is trusted without a check that it is still alive.
const idleTimeout = 10 * time.Second

// link is a connection to the server.
type link struct {
	client redis.UniversalClient
	conn   *redis.Conn
	waits  waiting // the command that confirms a transaction
	most   int     // largest entry, in bytes
	used   time.Time

	mu  sync.Mutex
	net []net.Conn // to the server, and to sentinels
	off bool
}

// dial connects, and checks that the server provides what cfg demands.
func (s *Sink) dial(ctx context.Context) (*link, error) {
	l := &link{}
	options := s.server
	options.Dialer = l.dialer(&options)
	// The client must not retry: the relay repeats what may have been taken, and knows the order.
	options.MaxRetries, options.DialerRetries = -1, 1
	// With a pool of one the client goes on dialling in the background, even for a moment after
	// it was closed.
	options.Protocol, options.PoolSize, options.PipelinePoolSize = 2, 2, -1
	options.MinIdleConns, options.ConnMaxIdleTime, options.ConnMaxLifetime = 0, -1, 0
	options.ContextTimeoutEnabled, options.ReadTimeout, options.WriteTimeout = true, -1, -1
	if options.MasterName == "" {
		client := redis.NewClient(options.Simple())
		l.client, l.conn = client, client.Conn()
	} else {
		client := redis.NewFailoverClient(options.Failover())
		l.client, l.conn = client, client.Conn()
	}
	free := l.guard(ctx)
	err := l.inspect(ctx, &s.cfg)
	free()
	if err == nil && !l.wasCut() {
		return l, nil
	}
	l.cut()
	l.close()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, s.out(err)
}

// dialer returns a dialer whose connections the link can cut.
func (l *link) dialer(o *redis.UniversalOptions) func(context.Context, string, string) (net.Conn, error) {
	dial := o.Dialer
	if dial == nil {
		timeout := o.DialTimeout
		timeout = cmp.Or(timeout, dialTimeout)
		dial = redis.NewDialer(&redis.Options{DialTimeout: timeout, TLSConfig: o.TLSConfig})
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.off {
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		l.net = append(l.net, conn)
		return conn, nil
	}
}

// answers reports whether an idle link is still alive: a server may close it after a timeout.
func (l *link) answers(ctx context.Context) bool {
	if time.Since(l.used) < idleTimeout {
		return true
	}
	defer l.guard(ctx)()
	return l.conn.Ping(ctx).Err() == nil
}

// guard cuts the link if ctx ends before the returned function is called.
func (l *link) guard(ctx context.Context) (done func()) {
	stop := context.AfterFunc(ctx, l.cut)
	return func() {
		if !stop() {
			l.cut()
		}
	}
}

// cut closes the connections at once, by a reset if possible: then the server drops what it has
// not read. It may be called at any time, and more than once.
func (l *link) cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.off = true
	for _, conn := range l.net {
		inner := conn
		if outer, ok := conn.(interface{ NetConn() net.Conn }); ok { // TLS
			inner = outer.NetConn()
		}
		if tcp, ok := inner.(interface{ SetLinger(seconds int) error }); ok {
			_ = tcp.SetLinger(0)
		}
		_ = inner.Close() // not that of TLS, which sends a close message
	}
	l.net = nil
}

func (l *link) wasCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.off
}

// close releases the link's resources.
func (l *link) close() {
	_ = l.conn.Close()
	_ = l.client.Close()
}
