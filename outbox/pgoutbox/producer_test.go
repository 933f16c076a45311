package pgoutbox_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/outboxtest"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// envProducer turns this test binary into a producer. Its value is the address of the database.
const envProducer = "LEAT_TEST_PRODUCER_DATABASE"

// ordersEach is the number of orders of a producer.
const ordersEach = 8

// producer places orders: an order and its message, or neither. A producer that does not know whether an
// order was placed may place it again, since it looks for the order in the same transaction. The table has
// no constraint that would hide a duplicate.
type producer struct {
	ob  *pgoutbox.Outbox
	key string
}

func (p *producer) place(ctx context.Context, n int) error {
	return p.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		id := fmt.Sprint(p.key, n)
		tag, err := tx.Exec(ctx, "INSERT INTO orders SELECT $1 WHERE NOT EXISTS (SELECT FROM orders WHERE id = $1)", id)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return p.ob.EnqueueContext(ctx, outbox.Message{ID: id, Topic: "orders", Key: p.key, Payload: []byte(id)})
	})
}

// producerProcess places the orders of one producer. The test ends it halfway.
func producerProcess() error {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv(envProducer))
	if err != nil {
		return err
	}
	defer pool.Close()
	ob, err := pgoutbox.New(pool, pgoutbox.Config{})
	if err != nil {
		return err
	}
	p := &producer{ob: ob, key: "victim"}
	for n := range ordersEach {
		if err := p.place(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// shop consists of two producers, one of them the victim, and a relay.
type shop struct {
	t             *testing.T
	db            *testenv.Database
	broker        *outboxtest.Broker
	relays        *running
	victim, other *producer
	wire          *faultnet.Commits // of the victim
}

func newShop(t *testing.T) *shop {
	t.Helper()
	ob, db := newOutbox(t, pgoutbox.Config{})
	exec(t, db, "CREATE TABLE orders (id text)")
	s := &shop{t: t, db: db, broker: outboxtest.NewBroker(), wire: &faultnet.Commits{}}
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.ConnConfig.DialFunc = s.wire.Dial
	config.ConnConfig.RuntimeParams["application_name"] = "victim"
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	own, err := pgoutbox.New(pool, pgoutbox.Config{})
	require.NoError(t, err)
	s.victim, s.other = &producer{ob: own, key: "victim"}, &producer{ob: ob, key: "other"}
	r, err := relay.New(source(t, ob, ""), s.broker.Sink(), relay.Config{PageSize: 3, PollMax: 10 * time.Millisecond})
	require.NoError(t, err)
	s.relays = runRelay(t, r)
	return s
}

// placed returns the number of the victim's orders.
func (s *shop) placed() int {
	s.t.Helper()
	return query1[int](s.t, s.db, "SELECT count(*) FROM orders WHERE id LIKE 'victim%'")
}

// requireOnce checks that the placed orders were delivered exactly once each, in the order of their key.
func (s *shop) requireOnce() {
	s.t.Helper()
	_, err := s.broker.AwaitDistinct(s.t.Context(), 2*ordersEach)
	require.NoError(s.t, err)
	require.NoError(s.t, s.relays.stop())
	log := s.broker.Log()
	delivered := map[string][]string{}
	for i := range log {
		delivered[log[i].Key] = append(delivered[log[i].Key], log[i].ID)
	}
	want := map[string][]string{}
	for n := range ordersEach {
		want["victim"] = append(want["victim"], fmt.Sprint("victim", n))
		want["other"] = append(want["other"], fmt.Sprint("other", n))
	}
	require.Equal(s.t, want, delivered)
	require.Equal(s.t, 2*ordersEach, query1[int](s.t, s.db, "SELECT count(*) FROM orders"))
	require.Equal(s.t, 2*ordersEach, stored(s.t, s.db), "O1: a row for each order")
}
