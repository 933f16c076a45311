package pgoutbox_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// proxy stands between a relay and the server. It can stop forwarding without closing a connection, like a
// half-open network.
type proxy struct {
	net.Listener

	target string
	flow   sync.RWMutex // held for writing while nothing flows
	done   sync.WaitGroup
	mu     sync.Mutex
	conns  []net.Conn
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{Listener: l, target: target}
	p.done.Go(p.serve)
	t.Cleanup(func() {
		_ = l.Close() // ends serve
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close() // ends the copies
		}
		p.mu.Unlock()
		p.done.Wait()
	})
	return p
}

func (p *proxy) serve() {
	for {
		client, err := p.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.done.Go(func() { p.pass(server, client) })
		p.done.Go(func() { p.pass(client, server) })
	}
}

// pass copies until either side closes, and then closes both.
func (p *proxy) pass(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.flow.RLock()
		_, werr := to.Write(buffer[:n])
		p.flow.RUnlock()
		if errors.Join(err, werr) != nil || errors.Is(err, io.EOF) {
			return
		}
	}
}

// behindProxy returns the outbox of db as seen through a proxy.
func behindProxy(t *testing.T, db *testenv.Database) (*proxy, *pgoutbox.Outbox) {
	t.Helper()
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	p := newProxy(t, net.JoinHostPort(config.ConnConfig.Host, strconv.Itoa(int(config.ConnConfig.Port))))
	config.ConnConfig.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", p.Addr().String())
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	return p, ob
}

// TestO9_HalfOpenNetwork: the network between the leading relay and the server goes silent. The relay
// gives up its lease by itself, and another one continues; when the network is back, nothing is out of
// order.
//
//leat:level 4
func TestO9_HalfOpenNetwork(t *testing.T) {
	t.Parallel()
	ob, db := newOutbox(t, pgoutbox.Config{})
	p, behind := behindProxy(t, db)

	broker := outboxtest.NewBroker()
	cfg := fastTakeover()
	cfg.DrainTimeout = 4 * time.Second
	lost := make(chan error, 16)
	cfg.Hooks = []outbox.Hook{onLost(lost)}
	r, err := relay.New(source(t, behind, ""), broker.Sink(), cfg)
	require.NoError(t, err)
	victim := runRelay(t, r)
	put(t, ob, "k", "1")
	_, err = broker.AwaitDistinct(t.Context(), 1)
	require.NoError(t, err)

	p.flow.Lock()
	unfreeze := sync.OnceFunc(p.flow.Unlock)
	t.Cleanup(unfreeze)
	cfg.Hooks = nil
	r, err = relay.New(source(t, ob, ""), broker.Sink(), cfg)
	require.NoError(t, err)
	next := runRelay(t, r)
	put(t, ob, "k", "2")
	require.Error(t, <-lost, "it noticed by itself")
	_, err = broker.AwaitDistinct(t.Context(), 2)
	require.NoError(t, err)
	unfreeze()
	require.NoError(t, next.stop())
	put(t, ob, "k", "3")
	_, err = broker.AwaitDistinct(t.Context(), 3)
	require.NoError(t, err)
	require.NoError(t, victim.stop())
	require.Equal(t, []string{"1", "2", "3"}, payloads(firsts(broker.Log())))
}

// TestO14_SilentConnection: an idle session polls on the connection of its lease, while renewals can go
// through the pool. If that connection goes silent, the session must not wait forever.
//
//leat:level 4
func TestO14_SilentConnection(t *testing.T) {
	t.Parallel()
	_, db := newOutbox(t, pgoutbox.Config{})
	p, behind := behindProxy(t, db)
	s := acquire(t, behind, "")
	_, err := s.Read(t.Context(), 1)
	require.NoError(t, err)
	p.flow.Lock()
	t.Cleanup(p.flow.Unlock)
	_, err = s.Read(t.Context(), 1)
	require.ErrorContains(t, err, "does not answer")
	require.ErrorIs(t, s.(driver.Watched).Lost(), driver.ErrLeaseLost) //nolint:forcetypeassert // it is
}

// onLost receives the reasons why leases were given up.
type onLost chan error

func (o onLost) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if !e.Held {
		o <- e.Err
	}
}
