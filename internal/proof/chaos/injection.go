package chaos

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/internal/proof/chaos/parts"
)

// askTimeout bounds the driver's own questions.
const askTimeout = 2 * time.Second

// injection does all that is done to the run.
type injection struct {
	stage *stage
	crew  *crew
	mail  *mail
	tally *tally
}

// run injects until ctx ends.
func (in *injection) run(ctx context.Context) {
	var group sync.WaitGroup
	for n, p := range in.crew.all {
		l := newLane(in, p, uint64(n)) //nolint:gosec // small
		group.Go(func() { l.run(ctx) })
	}
	in.groundwork(ctx)
	group.Wait()
}

// pending is how many records wait for the relays of a role, a hundred at most.
func (st *stage) pending(ctx context.Context, role string) (n int64) {
	var pool *pgxpool.Pool
	switch role {
	case parts.RoleRelay:
		pool = st.bank
	case parts.RoleExact:
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

// terminate ends a backend of a process, one that is at work if there is one.
func (st *stage) terminate(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var ended bool
	err := st.bank.QueryRow(ctx, `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1
		ORDER BY state IN ('active', 'idle in transaction') DESC, random() LIMIT 1`, name).Scan(&ended)
	return err == nil && ended
}
