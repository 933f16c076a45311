package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

// Seeds of the faults of servers and of lines. The lanes have seeds of their own.
const (
	serverSeed = 1000 + iota
	lineSeed
)

// serverCalm is the mean time between two server faults of one kind. lineCalm is the mean time between two
// faults of any kind in front of the servers.
const (
	serverCalm = 32 * time.Second
	lineCalm   = 1500 * time.Millisecond
)

// serverFault is a fault of a server, or of a proxy in front of one.
type serverFault struct {
	point, kind string
	affects     []string // roles
	strike      func(ctx context.Context, f *fault) error
}

// injectServerFaults injects faults one after the other, until ctx ends.
func (in *injection) injectServerFaults(ctx context.Context, seed uint64, calm time.Duration, faults []serverFault) {
	r := rand.New(rand.NewPCG(in.stage.options.Seed, seed)) //nolint:gosec // a seed is not secret
	var deck []int                                          // shuffled: each fault comes once before any comes again
	for wait.Full(ctx, time.Duration(r.ExpFloat64()*float64(calm))) {
		if len(deck) == 0 {
			deck = r.Perm(len(faults))
		}
		g := faults[deck[0]]
		deck = deck[1:]
		in.calm.RLock()
		in.injectServerFault(ctx, g)
		in.calm.RUnlock()
	}
}

// injectServerFault injects one fault and waits until a process has noticed it.
func (in *injection) injectServerFault(ctx context.Context, g serverFault) {
	f := in.tally.begin(g.point, g.kind, g.point)
	box := in.mail.open(f.id)
	defer in.mail.close(f.id)
	in.watch(ctx, f, g, box)
	f.at = time.Now()
	// A server that is down must come up again, even if ctx has ended.
	if err := g.strike(context.WithoutCancel(ctx), f); err != nil {
		fmt.Fprintf(in.stage.options.Out, "%s %s: %v\n", g.point, g.kind, err)
		return
	}
	if f.consequence == "" {
		if r, ok := await(ctx, box, roles.SaidSeen, seenWithin, nil); ok {
			f.consequence = r.Consequence
		}
	}
	in.each(g, func(p *process) { p.tell(roles.Command{Do: roles.DoForget, Fault: f.id}) })
	in.tally.end(f)
}

// watch asks the affected processes how much is in flight.
func (in *injection) watch(ctx context.Context, f *fault, g serverFault, box <-chan roles.Report) {
	n := 0
	in.each(g, func(p *process) {
		p.tell(roles.Command{Do: roles.DoWatch, Fault: f.id})
		n++
	})
	for range n {
		if r, ok := await(ctx, box, roles.SaidWatching, time.Second, nil); ok {
			f.inflight += r.Inflight
		}
	}
	for _, role := range g.affects {
		f.inflight += in.stage.store.pending(ctx, role)
	}
}

func (in *injection) each(g serverFault, f func(*process)) {
	for _, role := range g.affects {
		for _, p := range in.processes.of(role) {
			f(p)
		}
	}
}

// servers returns the faults of servers.
func (in *injection) servers() []serverFault {
	st := in.stage
	all := []serverFault{{
		pointKafka, kindKill,
		[]string{roles.Relay, roles.Exact, roles.Receipts, roles.Ledger, roles.Notifier},
		st.restart(st.kafka, syscall.SIGKILL),
	}}
	if st.server != nil {
		all = append(all, st.store.crash())
	}
	if st.redis != nil {
		redis := serverFault{pointRedis, kindKill, []string{roles.Notifier}, st.restart(st.redis, syscall.SIGKILL)}
		all = append(all, redis, redis) // twice: Redis is up again so soon that often no process has used it in between
	}
	return all
}

// lines returns the faults between processes and servers: of connections, of foreign transactions, and of
// the group.
func (in *injection) lines() []serverFault {
	st := in.stage
	relays, groups := []string{roles.Relay, roles.Exact, roles.Receipts}, []string{roles.Ledger, roles.Notifier}
	notifier := []string{roles.Notifier}
	all := st.store.lines(in)
	if len(in.processes.of(roles.Ledger)) > 1 {
		rebalance := serverFault{pointGroup, roles.KindRebalance, []string{roles.Ledger}, in.rebalance}
		all = append(all, rebalance, rebalance)
	}
	for _, line := range []struct {
		point   string
		affects []string
		proxy   *toxic
		silence time.Duration // longer than the time for which a process waits for an answer
	}{
		{pointRelaysKafka, relays, st.relaysKafka, roles.PublishTimeout + time.Second},
		{pointGroupsKafka, groups, st.groupsKafka, roles.SessionTimeout + time.Second},
		{pointRedisLine, notifier, st.redisProxy, roles.RedisTimeout + time.Second},
	} {
		if line.proxy == nil {
			continue
		}
		all = append(all,
			serverFault{line.point, kindReset, line.affects, reset(line.proxy, 50*time.Millisecond)},
			serverFault{line.point, kindTimeout, line.affects, poisoned(line.proxy, "timeout", map[string]int{"timeout": 0}, line.silence)},
			serverFault{line.point, kindLimit, line.affects, poisoned(line.proxy, "limit_data", map[string]int{"bytes": 700}, time.Second)})
	}
	if st.registry != nil {
		affects := []string{roles.Bank, roles.Ledger, roles.Notifier}
		all = append(all,
			serverFault{pointRegistry, kindKill, affects, reset(st.registryProxy, registryDown)},
			serverFault{pointRegistry, kindTimeout, affects, poisoned(st.registryProxy, "timeout", map[string]int{"timeout": 0}, roles.RegistryTimeout+time.Second)},
			serverFault{pointRegistry, kindRefused, affects, st.refuseAtRegistry})
	}
	return all
}

// registryDown is how long the registry is unavailable: longer than any process caches its answers.
const registryDown = 1500 * time.Millisecond

// refuseAtRegistry makes the registry fail for a while.
func (st *stage) refuseAtRegistry(ctx context.Context, _ *fault) error {
	st.registry.Intercept(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	wait.Full(ctx, registryDown)
	st.registry.ClearInterceptors()
	return nil
}

// restart ends a server and starts it again.
func (st *stage) restart(server *testenv.Own, sig syscall.Signal) func(context.Context, *fault) error {
	return func(ctx context.Context, _ *fault) error {
		if err := server.End(ctx, sig); err != nil {
			return err
		}
		return server.Start(ctx)
	}
}

// reset cuts all connections of a proxy, and refuses new ones for a while.
func reset(t *toxic, d time.Duration) func(context.Context, *fault) error {
	return func(ctx context.Context, _ *fault) error {
		again := t.reset()
		wait.Full(ctx, d)
		return again()
	}
}

// poisoned makes a proxy misbehave for a while.
func poisoned(t *toxic, kind string, attributes map[string]int, d time.Duration) func(context.Context, *fault) error {
	return func(ctx context.Context, _ *fault) error {
		heal, err := t.poison(ctx, kind, "downstream", attributes)
		if err != nil {
			return err
		}
		wait.Full(ctx, d)
		heal()
		return nil
	}
}

// foreign holds a transaction of an unrelated client, open or prepared. The expected consequence is
// that everything goes on: the outbox waits only for its own transactions.
func (in *injection) foreign(hold func(ctx context.Context) (end func() error, err error)) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) (err error) {
		end, err := hold(ctx)
		if err != nil {
			return err
		}
		before := in.settled(roles.Relay)
		wait.Full(ctx, time.Second)
		if n := in.settled(roles.Relay) - before; n > 0 {
			f.consequence = "records were relayed past it"
		}
		return end()
	}
}

// settled returns how many records the relays of a role have settled.
func (in *injection) settled(role string) (n int64) {
	for _, p := range in.processes.of(role) {
		p.mu.Lock()
		n += p.totals.Settled + p.latest.Settled
		p.mu.Unlock()
	}
	return n
}

// rebalance makes a member leave the group cleanly. It comes back at once.
func (in *injection) rebalance(_ context.Context, _ *fault) error {
	in.leave(in.processes.of(roles.Ledger)[1])
	return nil
}

// leave stops p cleanly.
func (in *injection) leave(p *process) {
	life := p.current()
	p.expect()
	p.signal(syscall.SIGTERM)
	p.signal(contSignal)
	select {
	case <-life.gone:
	case <-time.After(stopTimeout):
		_ = life.cmd.Process.Kill()
	}
}
