package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// askTimeout bounds the driver's own questions.
const askTimeout = 2 * time.Second

// injection does all that is done to the run.
type injection struct {
	stage *stage
	crew  *crew
	mail  *mail
	tally *tally

	// calm is held by an act, and shared by strokes: an act comes when none is under way.
	calm sync.RWMutex

	mu     sync.Mutex
	stands []string // what stood still, and should not have
}

// stood notes that something stood still.
func (in *injection) stood(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	fmt.Fprintln(in.stage.options.Out, "stands still:", what)
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stands = append(in.stands, what)
}

// run injects until ctx ends. It calls acted when every act has been performed once.
func (in *injection) run(ctx context.Context, acted func()) (err error) {
	var group sync.WaitGroup
	for n, p := range in.crew.all {
		l := newLane(in, p, uint64(n))
		group.Go(func() { l.run(ctx) })
	}
	group.Go(func() { in.injectServerFaults(ctx, serverSeed, serverCalm, in.servers()) })
	group.Go(func() { in.injectServerFaults(ctx, lineSeed, lineCalm, in.lines()) })
	group.Go(func() { err = in.perform(ctx, acted) })
	group.Wait()
	return err
}

// pending is how many records wait for the relays of a role, a hundred at most.
func (st *stage) pending(ctx context.Context, role string) (n int64) {
	var pool *pgxpool.Pool
	switch role {
	case roles.Relay:
		pool = st.bank
	case roles.Exact:
		pool = st.ledger
	default:
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	err := pool.QueryRow(ctx, `SELECT count(*) FROM (SELECT FROM leat.outbox_pending LIMIT 100) p`).Scan(&n)
	if err != nil { // nobody knows: it does not count
		return 0
	}
	return n
}

// terminate ends a backend of a process. Where the process works in transactions, it is
// one that is in the middle of one.
func (st *stage) terminate(ctx context.Context, name string, inTransaction bool) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	for {
		var ended bool
		err := st.bank.QueryRow(ctx, `
			SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE application_name = $1 AND (xact_start IS NOT NULL OR NOT $2) ORDER BY random() LIMIT 1`,
			name, inTransaction).Scan(&ended)
		switch {
		case err == nil:
			return ended
		case !errors.Is(err, pgx.ErrNoRows) || !pause(ctx, 5*time.Millisecond):
			return false
		}
	}
}
