package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/kafkasink"
	"github.com/leat-go/leat/outbox/pgoutbox"
	"github.com/leat-go/leat/outbox/relay"
)

// shard is a database with some of the customers, and an outbox for their events.
type shard struct {
	pool   *pgxpool.Pool
	outbox *pgoutbox.Outbox
}

// shop divides its customers among shards: by a hash, unless a customer has moved. The shard that the
// customer left has the name of the new one.
type shop struct {
	shards []shard
	topic  string
}

// Transactions of a customer lock the customer's row, so that they run one after the other, in its
// shard.
const tables = `
	CREATE TABLE IF NOT EXISTS customers (id text PRIMARY KEY, orders bigint NOT NULL, moves bigint NOT NULL DEFAULT 0, moved_to int);
	CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, customer text NOT NULL, no bigint NOT NULL)`

func openShop(ctx context.Context, topic string, pools ...*pgxpool.Pool) (*shop, error) {
	s := &shop{topic: topic}
	for _, pool := range pools {
		ob, err := pgoutbox.New(pool, pgoutbox.Config{})
		if err != nil {
			return nil, err
		}
		if _, err := pool.Exec(ctx, tables); err != nil {
			return nil, err
		}
		if err := ob.Migrate(ctx); err != nil {
			return nil, err
		}
		s.shards = append(s.shards, shard{pool, ob})
	}
	return s, nil
}

// home is the shard in which a customer begins.
func (s *shop) home(customer string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(customer))
	return int(h.Sum32() % uint32(len(s.shards))) //nolint:gosec // there are few
}

// movedError is the shard to which a customer has moved.
type movedError int

func (e movedError) Error() string { return fmt.Sprintf("the customer has moved to shard %d", int(e)) }

// errOnItsWay is returned while a customer moves.
var errOnItsWay = errors.New("the customer is on its way to another shard: try again")

// place writes an order and its event in one transaction, in the customer's shard. It returns the number of
// the order among the customer's orders.
func (s *shop) place(ctx context.Context, customer, order string) (no int64, err error) {
	at := s.home(customer)
	for range s.shards {
		no, err := s.placeAt(ctx, at, customer, order)
		moved, ok := errors.AsType[movedError](err)
		if !ok {
			return no, err
		}
		at = int(moved)
	}
	return 0, errOnItsWay
}

// A new customer begins at home. Elsewhere it has a row once it has arrived.
const (
	countAtHome = `
		INSERT INTO customers AS c (id, orders) VALUES ($1, 1)
		ON CONFLICT (id) DO UPDATE SET orders = c.orders + 1
		RETURNING orders, moved_to`
	countElsewhere = `UPDATE customers SET orders = orders + 1 WHERE id = $1 RETURNING orders, moved_to`
)

func (s *shop) placeAt(ctx context.Context, at int, customer, order string) (no int64, err error) {
	ob, count := s.shards[at].outbox, countElsewhere
	if at == s.home(customer) {
		count = countAtHome
	}
	err = ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var moved *int
		err := tx.QueryRow(ctx, count, customer).Scan(&no, &moved)
		if errors.Is(err, pgx.ErrNoRows) {
			return errOnItsWay
		}
		if err != nil {
			return err
		}
		if moved != nil {
			return movedError(*moved) // rolls back
		}
		if _, err := tx.Exec(ctx, `INSERT INTO orders VALUES ($1, $2, $3)`, order, customer, no); err != nil {
			return err
		}
		return ob.Enqueue(ctx, tx, outbox.Message{
			ID: order, Topic: s.topic, Key: customer, Payload: []byte(order),
		})
	})
	return no, err
}

// relay relays all shards, until ctx ends: a relay for each outbox. `leat run` does the same from a configuration file.
func (s *shop) relay(ctx context.Context, brokers []string, cfg relay.Config) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, len(s.shards))
	for _, at := range s.shards {
		go func() {
			defer stop() // if one ends by itself, all end: a supervisor starts them again
			ended <- at.relay(ctx, brokers, cfg)
		}()
	}
	var errs []error
	for range s.shards {
		errs = append(errs, <-ended)
	}
	return errors.Join(errs...)
}

func (at shard) relay(ctx context.Context, brokers []string, cfg relay.Config) error {
	source, err := at.outbox.Source(pgoutbox.SourceConfig{})
	if err != nil {
		return err
	}
	sink, err := kafkasink.New(brokers, kafkasink.Config{})
	if err != nil {
		return err
	}
	defer sink.Close()
	r, err := relay.New(source, sink, cfg)
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// move moves a customer to another shard. The order of its events is kept, since all events of the old shard
// have been sent before it has a row in the new one. If move fails, call it again, with the same shards.
func (s *shop) move(ctx context.Context, customer string, from, to int) error {
	// From here on no order of the customer is placed: placing one locks the row.
	var orders, moves int64
	err := s.shards[from].pool.QueryRow(ctx, `
		UPDATE customers SET moved_to = $2, moves = moves + (moved_to IS NULL)::int
		WHERE id = $1 AND (moved_to IS NULL OR moved_to = $2)
		RETURNING orders, moves`, customer, to).Scan(&orders, &moves)
	if err != nil {
		return fmt.Errorf("customer %s in shard %d: %w", customer, from, err)
	}
	if err := s.shards[from].drained(ctx, customer); err != nil {
		return err
	}
	_, err = s.shards[to].pool.Exec(ctx, `
		INSERT INTO customers AS c (id, orders, moves) VALUES ($1, $2, $3)
		ON CONFLICT (id) DO UPDATE SET orders = excluded.orders, moves = excluded.moves, moved_to = NULL
		WHERE c.moves < excluded.moves`, customer, orders, moves)
	return err
}

// unsent reports whether some group has not sent, or has set aside, a message of a key, or whether no group has
// ever relayed anything.
const unsent = `
	SELECT EXISTS (SELECT FROM leat.outbox_pending WHERE key = $1)
	    OR EXISTS (SELECT FROM leat.outbox_held WHERE key = $1)
	    OR NOT EXISTS (SELECT FROM leat.outbox_positions)`

// drained waits until all messages of a key are sent.
func (at shard) drained(ctx context.Context, key string) error {
	for {
		var waits bool
		if err := at.pool.QueryRow(ctx, unsent, key).Scan(&waits); err != nil || !waits {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
