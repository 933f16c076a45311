package natssink_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/sinktest"
)

var (
	_ sinktest.Muter   = (*streams)(nil)
	_ sinktest.Staller = (*streams)(nil)
	_ sinktest.Misser  = (*streams)(nil)
	_ sinktest.Limiter = (*streams)(nil)
	_ sinktest.Killer  = killable{}
)

// features: a stream refuses no single record of a size that another one may have.
func features() sinktest.Features { return sinktest.Features{NoRefusal: true, PlainHeaders: true} }

func TestSink_Conformance(t *testing.T) {
	t.Parallel()
	address := startServer(t).HostPort
	var n atomic.Int32
	sinktest.Run(t, features(), func(t *testing.T) sinktest.Subject {
		return newStreams(t, address, "c"+strconv.Itoa(int(n.Add(1))))
	})
}

// killable is a server of a test's own.
type killable struct {
	*streams

	server *testenv.Own
}

func (k killable) Kill(ctx context.Context) error { return k.server.End(ctx, syscall.SIGKILL) }

func (k killable) Revive(ctx context.Context) error {
	if err := k.server.Start(ctx); err != nil {
		return err
	}
	return eventually(ctx, func() error {
		_, err := k.Arrived(ctx, k.Topics()[0])
		return err
	})
}

//leat:level 4
func TestSink_KilledServer(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts servers")
	sinktest.RunKill(t, features(), func(t *testing.T) sinktest.Killer {
		server := startServer(t)
		return killable{newStreams(t, server.HostPort, "k"), server}
	})
}
