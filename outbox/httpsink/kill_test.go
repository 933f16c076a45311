package httpsink_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/sinktest"
)

// killable are endpoints whose server dies amid its requests, and comes back at its address.
type killable struct {
	*endpoints

	address string
	server  *http.Server
	ended   chan struct{}

	requests sync.RWMutex // is held by each, and guards dead
	dead     bool
}

var _ sinktest.Killer = (*killable)(nil)

func newKillable(t *testing.T) *killable {
	t.Helper()
	k := &killable{endpoints: emptyEndpoints()}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	k.address = listener.Addr().String()
	k.at("http://" + k.address)
	k.serve(listener)
	t.Cleanup(func() { _ = k.Kill(context.Background()) }) // any error: it may be dead
	return k
}

func (k *killable) serve(listener net.Listener) {
	k.die(false)
	k.server, k.ended = &http.Server{Handler: k, ReadHeaderTimeout: time.Minute}, make(chan struct{})
	go func(server *http.Server, ended chan<- struct{}) {
		defer close(ended)
		_ = server.Serve(listener) // until it is killed
	}(k.server, k.ended)
}

// die waits for requests that are under way.
func (k *killable) die(dead bool) {
	k.requests.Lock()
	defer k.requests.Unlock()
	k.dead = dead
}

// ServeHTTP takes nothing once the server is dead.
func (k *killable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	k.requests.RLock()
	defer k.requests.RUnlock()
	if !k.dead {
		k.endpoints.ServeHTTP(w, r)
	}
}

// Kill implements sinktest.Killer: connections are cut, and what has begun may have its effect.
func (k *killable) Kill(context.Context) error {
	err := k.server.Close()
	<-k.ended
	k.die(true)
	return err
}

// Revive implements sinktest.Killer.
func (k *killable) Revive(ctx context.Context) error {
	for {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", k.address)
		if err == nil {
			k.serve(listener)
			return nil
		}
		if ended := wait.For(ctx, 10*time.Millisecond); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// TestKilledServer: what a server has answered for stays, and the rest comes when it is back.
func TestKilledServer(t *testing.T) {
	t.Parallel()
	sinktest.RunKill(t, sinktest.Features{}, func(t *testing.T) sinktest.Killer {
		t.Helper()
		return newKillable(t)
	})
}
