package amqpsink

import (
	"context"
	"net"
	"sync/atomic"

	amqp "github.com/rabbitmq/amqp091-go"
)

// link is a connection with its channel in confirm mode.
type link struct {
	conn    *amqp.Connection
	channel *amqp.Channel
	net     net.Conn

	over    chan *amqp.Error // receives the reason why the connection closed
	failed  chan *amqp.Error // receives the reason why the channel closed
	returns chan amqp.Return // its buffer holds as many as can be in flight
	blocks  chan amqp.Blocking
	blocked atomic.Pointer[string] // why the broker does not read

	known    map[string]struct{} // exchanges and queues known to exist
	declared map[string]struct{} // topics whose Config.Declare has succeeded
}

// dial connects to the broker at url. The end of ctx ends it.
func dial(ctx context.Context, url string, cfg *Config) (_ *link, err error) {
	l := &link{known: map[string]struct{}{"": {}}, declared: map[string]struct{}{}}
	properties := amqp.NewConnectionProperties()
	properties.SetClientConnectionName(cfg.ConnectionName)
	stop := func() bool { return true }
	l.conn, err = amqp.DialConfig(url, amqp.Config{
		Properties: properties, TLSClientConfig: cfg.TLS.Clone(),
		Dial: func(network, address string) (net.Conn, error) {
			conn, err := cfg.Dial(ctx, network, address)
			if err == nil {
				l.net = conn
				stop = context.AfterFunc(ctx, l.cut)
			}
			return conn, err
		},
	})
	defer func() { stop() }()
	if err == nil {
		err = l.open(cfg.MaxUnconfirmed)
	}
	if err == nil {
		return l, nil
	}
	if l.net != nil {
		l.cut()
	}
	if l.over != nil {
		l.wait()
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return nil, err
}

// open opens the channel.
func (l *link) open(unconfirmed int) (err error) {
	l.over = l.conn.NotifyClose(make(chan *amqp.Error, 1))
	if l.channel, err = l.conn.Channel(); err != nil {
		return err
	}
	if err := l.channel.Confirm(false); err != nil {
		return err
	}
	// The library's reader must never wait for us: a return is followed by its confirm.
	l.returns = l.channel.NotifyReturn(make(chan amqp.Return, unconfirmed))
	l.failed = l.channel.NotifyClose(make(chan *amqp.Error, 1))
	l.blocks = l.conn.NotifyBlocked(make(chan amqp.Blocking, 1))
	go func() {
		for b := range l.blocks {
			if b.Active {
				l.blocked.Store(&b.Reason)
			} else {
				l.blocked.Store(nil)
			}
		}
	}()
	return nil
}

func (l *link) alive() bool { return !l.conn.IsClosed() && !l.channel.IsClosed() }

// said waits for the broker's reason for closing the channel, if the broker closed it. The
// library marks the channel as closed before it passes the reason on, and cutting the
// connection in between may lose it. The end of the connection ends the wait, and so does the
// end of the call's ctx.
func (l *link) said() *amqp.Error {
	if l.conn.IsClosed() || !l.channel.IsClosed() {
		return nil
	}
	return <-l.failed
}

// cut closes the connection without the closing handshake, by a reset if possible.
//
// A broker that is blocked at that moment reads on later. After a reset, RabbitMQ 3.10 on Linux
// did not take what it had not read by then; after an orderly close it took it, as repeats. TCP
// guarantees neither, so a repeat may arrive after what is sent on the next connection.
func (l *link) cut() {
	if tcp, ok := l.net.(interface{ SetLinger(seconds int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = l.net.Close()
}

// wait returns when the library has noticed that the connection is closed.
func (l *link) wait() {
	for range l.over {
		continue
	}
}
