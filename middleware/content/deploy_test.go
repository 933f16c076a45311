package content_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/middleware/content"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// deployment is a service whose processes are replaced one after the other, on PostgreSQL and
// Kafka.
type deployment struct {
	db     *testenv.Database
	kafka  *testenv.KafkaEnv
	topic  string
	ob     *pgoutbox.Outbox
	logger *slog.Logger

	mu      sync.Mutex
	orders  map[string]int // in cents
	refused int            // attempts at a future version
	changed chan struct{}
}

func newDeployment(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{db: testenv.Postgres(t), kafka: testenv.Kafka(t), logger: slog.New(slog.DiscardHandler), orders: map[string]int{}, changed: make(chan struct{}, 1)}
	d.topic = d.kafka.Topic(t, "orders", 4)
	var err error
	d.ob, err = pgoutbox.New(d.db.Pool, pgoutbox.Config{})
	require.NoError(t, err)
	require.NoError(t, d.ob.Migrate(t.Context()))
	require.NoError(t, d.inbox(t).Migrate(t.Context()))
	return d
}

func (d *deployment) inbox(t *testing.T) *pginbox.Inbox {
	t.Helper()
	return newConsumer(t, d.db, "orders", inbox.Policy{Action: inbox.Park, Attempts: 10_000}, d.logger)
}

// note takes an order, or what prevented it.
func (d *deployment) note(order string, cents int, err error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.orders[order] = cents
	} else if errors.Is(err, content.ErrFutureVersion) {
		d.refused++
	}
	select {
	case d.changed <- struct{}{}:
	default:
	}
	return err
}

// until waits until so many orders were handled, and attempts refused.
func (d *deployment) until(t *testing.T, orders, refused int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		d.mu.Lock()
		done := len(d.orders) >= orders && d.refused >= refused
		d.mu.Unlock()
		if done {
			return
		}
		select {
		case <-d.changed:
		case <-ctx.Done():
			require.FailNow(t, "not handled", "%d orders of %d, %d refused", len(d.orders), orders, d.refused)
		}
	}
}

// start starts a process of a release, which stop ends.
func (d *deployment) start(t *testing.T, m *content.Marshaler, release int) (stop func()) {
	t.Helper()
	sub, err := kafkasource.NewSubscriber(d.kafka.Brokers, d.kafka.Name("orders"), kafkasource.Config{
		RedeliverDelay: 10 * time.Millisecond, MaxRedeliverDelay: 50 * time.Millisecond, SessionTimeout: 6 * time.Second, DrainTimeout: time.Second,
	})
	require.NoError(t, err)
	msgs, err := sub.Subscribe(t.Context(), d.topic)
	require.NoError(t, err)
	handle := d.inbox(t).Handle(func(_ context.Context, msg *message.Message) error {
		if release == 1 {
			var v placed1
			err := m.Unmarshal(msg, &v)
			return d.note(v.Order, 100*v.Total, err)
		}
		var v placed2
		err := m.Unmarshal(msg, &v)
		return d.note(v.Order, v.Cents, err)
	})
	var group sync.WaitGroup
	group.Go(func() {
		for msg := range msgs {
			group.Go(func() {
				if handle(msg) != nil {
					msg.Nack()
				} else {
					msg.Ack()
				}
			})
		}
	})
	return func() {
		require.NoError(t, sub.Close())
		group.Wait()
	}
}

// write sends orders of a release, from one number to another.
func (d *deployment) write(t *testing.T, m *content.Marshaler, release, from, to int) {
	t.Helper()
	require.NoError(t, d.ob.InTx(t.Context(), func(ctx context.Context, _ pgx.Tx) error {
		for n := from; n < to; n++ {
			order := strconv.Itoa(n)
			var v any = placed1{order, 2}
			if release == 2 {
				v = placed2{order, 200}
			}
			msg, err := m.Message(d.topic, order, v)
			if err != nil {
				return err
			}
			if err := d.ob.EnqueueContext(ctx, msg); err != nil {
				return err
			}
		}
		return nil
	}))
	send(t, d.ob, d.kafka, d.logger)
}

// TestC18_RollingDeployOnKafka: C18. Two processes of one group are replaced one after the other,
// producers before or after them, so that both releases are in the group while both versions
// come. All messages are handled, and none is parked.
//
//leat:level 2
func TestC18_RollingDeployOnKafka(t *testing.T) {
	t.Parallel()
	first, second, _ := marshalers(t)
	for name, producersFirst := range map[string]bool{"producers first": true, "consumers first": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeployment(t)
			stopA, stopB := d.start(t, first, 1), d.start(t, first, 1)
			d.write(t, first, 1, 0, 40)
			d.until(t, 40, 0)
			if producersFirst {
				d.write(t, second, 2, 40, 70)
				d.until(t, 40, 1)
			}
			newA := d.start(t, second, 2)
			stopA()
			d.write(t, second, 2, 70, 85)
			d.write(t, first, 1, 85, 100)
			d.until(t, 41, 1)
			newB := d.start(t, second, 2)
			stopB()
			if !producersFirst {
				d.write(t, second, 2, 40, 70)
			}
			d.until(t, 100, 1)
			newA()
			newB()
			for order, cents := range d.orders {
				require.Equal(t, 200, cents, "order %s", order)
			}
			operator, err := pginbox.NewAdmin(d.db.Pool, pginbox.Config{})
			require.NoError(t, err)
			left, err := operator.Parked(t.Context(), admin.ParkedQuery{})
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
