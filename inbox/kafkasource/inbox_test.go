package kafkasource_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware"
	"github.com/leat-go/leat/outbox"
)

// database returns a database with an inbox, and a table of effects without any
// constraint, so that a double effect is seen.
func database(t *testing.T) *pgxpool.Pool {
	t.Helper()
	return prepare(t, testenv.Postgres(t))
}

func prepare(t *testing.T, db *testenv.Database) *pgxpool.Pool {
	t.Helper()
	in, err := pginbox.New(db.Pool, "migrator", pginbox.Config{})
	require.NoError(t, err)
	require.NoError(t, in.Migrate(t.Context()))
	_, err = db.Pool.Exec(t.Context(), `CREATE TABLE effects (effect text, by text)`)
	require.NoError(t, err)
	return db.Pool
}

// effects returns how many effects there are, and how many different ones.
func effects(t *testing.T, pool *pgxpool.Pool) [2]int {
	t.Helper()
	var all, distinct int
	row := pool.QueryRow(t.Context(), `SELECT count(*), count(DISTINCT effect) FROM effects`)
	require.NoError(t, row.Scan(&all, &distinct))
	return [2]int{all, distinct}
}

// ends is a hook that counts how deliveries to the inbox end.
type ends struct {
	mu      sync.Mutex
	counts  map[inbox.Outcome]int
	changed chan struct{}
}

func newEnds() *ends { return &ends{counts: map[inbox.Outcome]int{}, changed: make(chan struct{})} }

// OnInboxDelivery implements inbox.DeliveryHook.
func (e *ends) OnInboxDelivery(_ context.Context, d inbox.DeliveryEvent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts[d.Outcome]++
	close(e.changed)
	e.changed = make(chan struct{})
}

// await waits until there were n deliveries with an outcome.
func (e *ends) await(t *testing.T, outcome inbox.Outcome, n int) {
	t.Helper()
	for {
		e.mu.Lock()
		seen, changed := e.counts[outcome], e.changed
		e.mu.Unlock()
		if seen >= n {
			return
		}
		await(t, changed, fmt.Sprintf("%d deliveries %s, %d seen", n, outcome, seen))
	}
}

// worker is a router with an inbox on a group member: a service as users build
// it.
type worker struct {
	sub   *kafkasource.Subscriber
	parts *partitions
	ends  *ends
	stop  func()
}

// work starts a worker called by. Its handler writes the effect and then calls
// mid with the message's context.
func work(
	ctx context.Context, t *testing.T, pool *pgxpool.Pool, env *testenv.KafkaEnv, topic, by string, cfg kafkasource.Config,
	mid func(ctx context.Context, msg *message.Message) error,
) *worker {
	t.Helper()
	w := &worker{parts: newPartitions(), ends: newEnds()}
	cfg.Hooks = append(cfg.Hooks, w.parts)
	var err error
	w.sub, err = kafkasource.NewSubscriber(env.Brokers, env.Name("group"), cfg)
	require.NoError(t, err)
	in, err := pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{Hooks: []outbox.Hook{w.ends}, BusyDelay: inbox.NoDelay}})
	require.NoError(t, err)
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	require.NoError(t, err)
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	require.NoError(t, err)
	router.AddMiddleware(once)
	router.AddConsumerHandler("handler", topic, w.sub, func(msg *message.Message) error {
		ctx := msg.Context()
		if _, err := pginbox.Tx(ctx).Exec(ctx, "INSERT INTO effects VALUES ($1, $2)", msg.UUID, by); err != nil {
			return err
		}
		return mid(ctx, msg)
	})
	ended := make(chan error, 1)
	go func() { ended <- router.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		require.NoError(t, router.Close())
		require.NoError(t, <-ended)
	})
	t.Cleanup(w.stop)
	return w
}

func easy(context.Context, *message.Message) error { return nil }
