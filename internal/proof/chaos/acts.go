package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// actSeed seeds the random numbers of the acts; the lanes have seeds of their own.
const actSeed = 2000

const (
	// firstActGap is the mean time between two acts until each has been performed.
	firstActGap = time.Second
	// passWithin is how long a transfer may take while an act blocks other messages.
	passWithin = 30 * time.Second
	// goOnWithin is how long it may take until everything works again after an act.
	goOnWithin = 2 * time.Minute
	// catchUpWithin is how long an act waits for work that earlier strokes have delayed.
	catchUpWithin = 5 * time.Minute
)

// act changes the environment of the system. No stroke runs during an act.
type act struct {
	point, kind string
	perform     func(ctx context.Context, f *fault) error
}

func (a act) name() string { return a.point + "/" + a.kind }

// ground returns the store as one that has acts. It panics for a store that has none.
func (in *injection) ground() ground {
	return in.stage.store.(ground) //nolint:forcetypeassert // the options ask only for acts of the store
}

// acts returns all acts of the store.
func (in *injection) acts() []act {
	g, ok := in.stage.store.(ground)
	if !ok {
		return nil
	}
	return g.acts(in)
}

// Acts returns the names of all acts of a store, one of roles.Stores.
func Acts(store string) []string {
	st := &stage{options: Options{Store: store}}
	st.store = newStore(st)
	var names []string
	for _, a := range (&injection{stage: st}).acts() {
		names = append(names, a.name())
	}
	return names
}

// wanted returns the acts that the options name.
func (in *injection) wanted() []act {
	var some []act
	for _, a := range in.acts() {
		for _, name := range in.stage.options.Acts {
			if name == a.name() {
				some = append(some, a)
			}
		}
	}
	return some
}

// perform performs acts until ctx ends, and calls done when each has been performed once.
func (in *injection) perform(ctx context.Context, done func()) error {
	all := in.wanted()
	if len(all) == 0 {
		done()
		return nil
	}
	r := rand.New(rand.NewPCG(in.stage.options.Seed, actSeed)) //nolint:gosec // a seed is not secret
	gap := firstActGap
	for {
		for _, n := range r.Perm(len(all)) {
			if !wait.Full(ctx, time.Duration(r.ExpFloat64()*float64(gap))) {
				return nil
			}
			if err := in.performOne(ctx, all[n]); err != nil {
				return fmt.Errorf("act %s: %w", all[n].name(), err)
			}
		}
		done()
		done, gap = func() {}, in.stage.options.ActGap
	}
}

// performOne performs an act and waits until everything works again. It finishes even if ctx ends,
// since the act has already changed something.
func (in *injection) performOne(ctx context.Context, a act) error {
	in.calm.Lock()
	defer in.calm.Unlock()
	ctx = context.WithoutCancel(ctx)
	began := time.Now()
	all := serverFault{point: a.point, kind: a.kind, affects: []string{
		roles.Bank, roles.Relay, roles.Exact, roles.Receipts, roles.Ledger, roles.Notifier,
	}}
	in.awake(all)
	in.flows(ctx, catchUpWithin) // if transfers do not arrive, the drain at the end reports it
	f := in.tally.begin(a.point, a.kind, a.point)
	box := in.mail.open(f.id)
	defer in.mail.close(f.id)
	in.watch(ctx, f, all, box)
	f.at = time.Now()
	if err := a.perform(ctx, f); err != nil {
		return err
	}
	if f.consequence == "" {
		if r, ok := await(ctx, box, roles.SaidSeen, time.Second, nil); ok {
			f.consequence = r.Consequence
		}
	}
	in.each(all, func(p *process) { p.tell(roles.Command{Do: roles.DoForget, Fault: f.id}) })
	in.tally.end(f)
	if !in.flows(ctx, goOnWithin) {
		in.stood("%s: no transfer has arrived within %s", a.name(), goOnWithin)
	}
	fmt.Fprintf(in.stage.options.Out, "act %s took %s: %s\n", a.name(), time.Since(began).Round(100*time.Millisecond), f.consequence)
	return nil
}

// awake continues stopped processes and waits for those that are being started again.
func (in *injection) awake(g serverFault) {
	in.each(g, func(p *process) {
		p.signal(contSignal)
		for end := time.Now().Add(worksWithin); time.Now().Before(end); {
			life := p.current()
			select {
			case <-life.ready:
				if !isClosed(life.gone) {
					return
				}
			case <-life.gone:
			case <-time.After(worksWithin):
			}
			<-time.After(restartAfter)
		}
	})
}

// flows reports whether a transfer that is committed from now on has its effect in time.
func (in *injection) flows(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	in.processes.of(roles.Bank)[0].tell(roles.Command{Do: roles.DoWork})
	now := time.Now()
	var markers []string // several, since the key of one may wait for something that a fault has delayed
	for wait.Full(ctx, 100*time.Millisecond) {
		if id := in.transferSince(ctx, now); id != "" {
			markers = append(markers, id)
		}
		if there, err := in.ground().arrived(ctx, markers); err == nil && there {
			return true
		}
	}
	return false
}

// transferSince returns the id of the newest transfer between accounts that began after since. It is empty
// if there is none yet. Ids contain the time.
func (in *injection) transferSince(ctx context.Context, since time.Time) (id string) {
	from := fmt.Sprintf("%012x", since.UnixMilli())
	id, err := in.ground().newest(ctx, from[:8]+"-"+from[8:])
	if err != nil {
		return "" // there is none yet, or the database does not answer
	}
	return id
}

// clears waits until a count is zero. If it is not zero within the given time, it reports what stands
// still.
func (in *injection) clears(ctx context.Context, what string, within time.Duration, count func(context.Context) (int64, error)) {
	var n int64
	err := error(nil)
	for end := time.Now().Add(within); time.Now().Before(end); wait.Full(ctx, 100*time.Millisecond) {
		if n, err = count(ctx); err == nil && n <= 0 {
			return
		}
	}
	in.stood("%s: %d are left after %s (%v)", what, n, within, err)
}

// countTimeout bounds one count: many rows may be pending.
const countTimeout = 20 * time.Second

// bounded returns count with countTimeout.
func bounded(count func(context.Context) (int64, error)) func(context.Context) (int64, error) {
	return func(ctx context.Context) (int64, error) {
		ctx, cancel := context.WithTimeout(ctx, countTimeout)
		defer cancel()
		return count(ctx)
	}
}

// inBank counts rows in the bank's database, which is PostgreSQL.
func (in *injection) inBank(query string, args ...any) func(context.Context) (int64, error) {
	return bounded(func(ctx context.Context) (n int64, err error) {
		return n, in.stage.bank.QueryRow(ctx, query, args...).Scan(&n)
	})
}

// unsent counts the unsent messages of keys that begin with key.
func (in *injection) unsent(key string) func(context.Context) (int64, error) {
	return bounded(func(ctx context.Context) (int64, error) { return in.ground().unsent(ctx, key) })
}
