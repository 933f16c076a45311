package natssink

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// connectTimeout bounds connecting if the context does not.
const connectTimeout = 5 * time.Second

// link is a connection.
type link struct {
	js     jetstream.JetStream
	closed chan struct{} // closed when the connection has ended
	denied chan string   // subjects that we may not write to

	mu   sync.Mutex
	conn *nats.Conn
	net  net.Conn
	off  bool
}

// dialer is a nats.CustomDialer.
type dialer func(network, address string) (net.Conn, error)

// Dial implements nats.CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) { return d(network, address) }

// dial connects. The end of ctx ends it.
func (s *Sink) dial(ctx context.Context) (*link, error) {
	l := &link{closed: make(chan struct{}), denied: make(chan string, s.cfg.MaxUnacked)}
	timeout := connectTimeout
	if end, ok := ctx.Deadline(); ok {
		timeout = min(timeout, time.Until(end))
	}
	if timeout <= 0 {
		return nil, context.DeadlineExceeded
	}
	stop := context.AfterFunc(ctx, l.cut)
	conn, err := nats.Connect(s.url, append(slices.Clip(s.cfg.Options),
		nats.Timeout(timeout), nats.NoReconnect(), nats.RetryOnFailedConnect(false),
		nats.SetCustomDialer(dialer(func(network, address string) (net.Conn, error) { return l.dial(ctx, s.cfg.Dial, network, address) })),
		nats.ClosedHandler(func(*nats.Conn) { close(l.closed) }), nats.ErrorHandler(l.refused),
	)...)
	l.mu.Lock()
	l.conn = conn
	l.mu.Unlock()
	if err == nil {
		l.js, err = jetstream.New(conn, jetstream.WithPublishAsyncMaxPending(2*s.cfg.MaxUnacked))
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		// Its first publish starts a goroutine, which would outlive a connection that is cut at that moment. A
		// message without a subject is not sent.
		_, _ = l.js.PublishMsgAsync(&nats.Msg{})
		return l, nil
	}
	l.cut()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, out(s.hosts, err)
}

func (l *link) dial(
	ctx context.Context, dial func(context.Context, string, string) (net.Conn, error), network, address string,
) (net.Conn, error) {
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
	l.net = conn
	return conn, nil
}

// refused handles what the server reports outside of its answers: a publish to a subject without
// permission has no answer.
func (l *link) refused(_ *nats.Conn, _ *nats.Subscription, err error) {
	if !errors.Is(err, nats.ErrPermissionViolation) {
		return
	}
	if _, rest, ok := strings.Cut(err.Error(), `Publish to "`); ok {
		subject, _, _ := strings.Cut(rest, `"`)
		select {
		case l.denied <- subject:
		default: // as many as can be in flight are reported already
		}
	}
}

// over reports whether the connection has ended.
func (l *link) over() bool {
	select {
	case <-l.closed:
		return true
	default:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.off || l.conn.IsClosed()
	}
}

// cut closes the connection at once, by a reset if possible: then the server drops what it has
// not read.
func (l *link) cut() {
	l.mu.Lock()
	l.off = true
	if tcp, ok := l.net.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	if l.net != nil {
		_ = l.net.Close()
	}
	conn := l.conn
	l.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}
