package chaos

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// askTimeout bounds the driver's own questions.
const askTimeout = 2 * time.Second

// injection injects all faults and acts of the run.
type injection struct {
	stage     *stage
	processes *processes
	mail      *mail
	tally     *tally

	// calm is locked by an act, and read-locked by each stroke: an act starts only when no stroke is
	// running.
	calm sync.RWMutex

	mu     sync.Mutex
	stands []string // reports of what stood still unexpectedly
}

// stood reports that something stood still.
func (in *injection) stood(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	fmt.Fprintln(in.stage.options.Out, "stands still:", what)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stands = append(in.stands, what)
}

// run injects faults until ctx ends, or an act cannot be performed. It calls acted when every act has been
// performed once.
func (in *injection) run(ctx context.Context, acted func()) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var group sync.WaitGroup
	for n, p := range in.processes.all {
		l := newLane(in, p, uint64(n))
		group.Go(func() { l.run(ctx) })
	}
	servers := in.servers()
	group.Go(func() { in.injectServerFaults(ctx, serverSeed, serverCalm/time.Duration(len(servers)), servers) })
	group.Go(func() { in.injectServerFaults(ctx, lineSeed, lineCalm, in.lines()) })
	group.Go(func() {
		if err = in.perform(ctx, acted); err != nil {
			cancel()
		}
	})
	group.Wait()
	return err
}
