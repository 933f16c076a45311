package kafkasink_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/rpc"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/failpoint/failpointtest"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/relay"
)

// Environment of this test binary when it is executed again as a relay.
const (
	envSource    = "LEAT_TEST_SOURCE"
	envBrokers   = "LEAT_TEST_BROKERS"
	envPrefix    = "LEAT_TEST_PREFIX"    // of transactional ids and of the topic of positions
	envPlain     = "LEAT_TEST_PLAIN"     // deliver at least once
	envSuspendAt = "LEAT_TEST_SUSPENDAT" // point@hit at which the process stops itself
)

// fastTakeover is for relays that are killed: small pages, so that a kill finds
// something under way, and a lease that a test can wait for.
func fastTakeover() relay.Config {
	return relay.Config{
		PageSize: 20, ReadAhead: 1, PollMax: 50 * time.Millisecond, BackoffMax: 500 * time.Millisecond,
		Lease: 2500 * time.Millisecond, PublishTimeout: 1500 * time.Millisecond, LeaseMargin: 300 * time.Millisecond,
	}
}

func transactionalConfig(prefix string) kafkasink.TransactionalConfig {
	return kafkasink.TransactionalConfig{
		TransactionalIDPrefix: prefix, PositionTopic: prefix + "positions", CreatePositionTopic: true,
	}
}

// relayProcess relays until SIGTERM, and says when it leads and when it suspends
// itself.
func relayProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	client, err := rpc.Dial("tcp", os.Getenv(envSource))
	if err != nil {
		return err
	}
	defer client.Close()
	addrs := strings.Split(os.Getenv(envBrokers), ",")
	var sink interface {
		driver.Sink
		Close() error
	}
	if sink, err = kafkasink.NewTransactional(addrs, transactionalConfig(os.Getenv(envPrefix))); err != nil {
		return err
	}
	if os.Getenv(envPlain) != "" {
		if sink, err = kafkasink.New(addrs, kafkasink.Config{}); err != nil {
			return err
		}
	}
	defer sink.Close()
	cfg := fastTakeover()
	cfg.Hooks = []outbox.Hook{sayLeading{}}
	r, err := relay.New(&remoteSource{client}, sink, cfg)
	if err != nil {
		return err
	}
	if ctx, err = suspending(ctx, os.Getenv(envSuspendAt)); err != nil {
		return err
	}
	return r.Run(ctx)
}

type sayLeading struct{}

func (sayLeading) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if e.Held {
		fmt.Println("leading")
	}
}

// suspending arms the point at which the process stops itself.
func suspending(ctx context.Context, at string) (context.Context, error) {
	point, hit, ok := strings.Cut(at, "@")
	if !ok {
		return ctx, nil
	}
	n, err := strconv.Atoi(hit)
	if err != nil {
		return nil, err
	}
	points := &failpointtest.Registry{}
	err = points.EnableAt(failpoint.Name(point), n, failpointtest.Call(func(context.Context) error {
		fmt.Println("suspended")
		return syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}))
	return failpointtest.With(ctx, points), err
}

// process is a relay in a process of its own.
type process struct {
	cmd       *exec.Cmd
	leading   chan struct{} // closed when it has got the lease for the first time
	suspended chan struct{} // closed when it stops itself
	done      chan struct{} // closed when it has ended
	err       error
}

// spawn starts a relay process, which is killed when the test ends. More of its
// environment may follow.
func (s *stage) spawn(environ ...string) *process {
	s.t.Helper()
	p := &process{leading: make(chan struct{}), suspended: make(chan struct{}), done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envSource+"="+s.address, envBrokers+"="+strings.Join(s.brokers, ","), envPrefix+"="+s.prefix)
	p.cmd.Env = append(p.cmd.Env, environ...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, p.cmd.Start())
	go func() {
		defer close(p.done)
		var leads, stops sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			switch lines.Text() {
			case "leading":
				leads.Do(func() { close(p.leading) })
			case "suspended":
				stops.Do(func() { close(p.suspended) })
			}
		}
		p.err = p.cmd.Wait()
	}()
	s.t.Cleanup(p.kill)
	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// kill ends the process with SIGKILL and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended already
	<-p.done
}

// stop asks the process to end and waits for it.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return p.err
}
