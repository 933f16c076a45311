package pgoutbox_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// Environment of this test binary when it is executed again as a relay.
const (
	envRelayDatabase = "LEAT_TEST_RELAY_DATABASE"
	envRelayBrokers  = "LEAT_TEST_RELAY_BROKERS"
	envRelayLease    = "LEAT_TEST_RELAY_LEASE"
	envRelaySlots    = "LEAT_TEST_RELAY_SLOTS"
	envRelayLinger   = "LEAT_TEST_RELAY_LINGER" // between the acknowledgement and the position
)

// fastTakeover returns the config of relays that are killed: small pages, so that a kill hits records on
// their way, and a lease short enough for a test.
func fastTakeover() relay.Config {
	return relay.Config{
		PageSize: 20, ReadAhead: 1, PollMax: 50 * time.Millisecond,
		Lease: 2500 * time.Millisecond, PublishTimeout: time.Second, LeaseMargin: 300 * time.Millisecond,
	}
}

// relayProcess is the main function of the process: it relays until SIGTERM. It prints "leading" when it
// got the lease, "sent" with a number before it sends, and "settled" with a number when that is stored.
func relayProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv(envRelayDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	slots, err := strconv.Atoi(cmp.Or(os.Getenv(envRelaySlots), "1"))
	if err != nil {
		return err
	}
	src, err := ob.Source(pgoutbox.SourceConfig{Slots: slots})
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(strings.Split(os.Getenv(envRelayBrokers), ","), kafkasink.Config{})
	if err != nil {
		return err
	}
	defer sink.Close()
	cfg := fastTakeover()
	if cfg.Lease, err = time.ParseDuration(os.Getenv(envRelayLease)); err != nil {
		return err
	}
	linger, err := time.ParseDuration(cmp.Or(os.Getenv(envRelayLinger), "0s"))
	if err != nil {
		return err
	}
	cfg.Hooks = []outbox.Hook{teller{}}
	r, err := relay.New(src, tellingSink{sink, linger}, cfg)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// teller is a hook that prints what the process does.
type teller struct{}

func (teller) OnRelayLease(_ context.Context, e relay.LeaseEvent) {
	if e.Held {
		fmt.Println("leading")
	}
}

func (teller) OnRelayProgress(_ context.Context, e relay.ProgressEvent) {
	fmt.Println("settled", e.Settled)
}

// tellingSink prints what it sends, and pauses after each acknowledgement.
type tellingSink struct {
	driver.Sink

	linger time.Duration
}

func (s tellingSink) Send(ctx context.Context, records []outbox.Record) []outbox.Result {
	fmt.Println("sent", len(records))
	results := s.Sink.Send(ctx, records)
	if s.linger > 0 {
		select {
		case <-time.After(s.linger):
		case <-ctx.Done():
		}
	}
	return results
}

// process is a relay in a process of its own.
type process struct {
	cmd     *osexec.Cmd
	leading chan struct{} // closed when it has got the lease
	done    chan struct{} // closed when it has ended
	err     error

	sent, settled atomic.Int64 // records, as it says
	frozen        atomic.Bool
}

// unsettled returns the number of records that the process has sent and not settled.
func (p *process) unsettled() int64 {
	return p.sent.Load() - p.settled.Load()
}

// hear parses a line that the process printed.
func (p *process) hear(line string, leads func()) {
	what, number, _ := strings.Cut(line, " ")
	n, _ := strconv.ParseInt(number, 10, 64) // there is none: 0
	switch what {
	case "leading":
		leads()
	case "sent":
		p.sent.Add(n)
	case "settled":
		p.settled.Add(n)
	}
}

// spawn starts a relay process, with additional environment variables if given. The process is killed when
// the test ends.
func (s *stage) spawn(lease time.Duration, environ ...string) *process {
	s.t.Helper()
	p := &process{leading: make(chan struct{}), done: make(chan struct{})}
	p.cmd = osexec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), envRelayDatabase+"="+s.db.URL,
		envRelayBrokers+"="+strings.Join(s.kafka.Brokers, ","), envRelayLease+"="+lease.String())
	p.cmd.Env = append(p.cmd.Env, environ...)
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, p.cmd.Start())
	go func() {
		defer close(p.done)
		var once sync.Once
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.hear(lines.Text(), func() { once.Do(func() { close(p.leading) }) })
		}
		p.err = p.cmd.Wait()
	}()
	s.t.Cleanup(p.kill)
	return p
}

// ended reports whether the process has ended.
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
