package pgoutbox_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
)

// storm starts eight producers that run txs transactions each: some are rolled back, some write in
// savepoints, some stay open for a while. After every transaction it calls at with the number of
// transactions so far, on the test's goroutine, while the producers go on. It returns when all are done.
func (s *stage) storm(name string, txs int, at func(n int)) {
	s.t.Helper()
	const producers = 8
	steps := make(chan error, producers*txs)
	var wg sync.WaitGroup
	for i := range producers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(txs), uint64(i)))
			for tx := range txs {
				steps <- s.produce(rng, fmt.Sprintf("%s-%d-%d", name, i, tx))
			}
		})
	}
	defer wg.Wait()
	for n := range producers * txs {
		require.NoError(s.t, <-steps)
		at(n + 1)
	}
}

// produce runs one transaction of a producer.
func (s *stage) produce(rng *rand.Rand, name string) error {
	ctx := s.t.Context()
	commit := rng.IntN(5) > 0
	msgs := s.randomMessages(rng, name)
	err := s.ob.InTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if rng.IntN(4) == 0 {
			undone := s.message("undone", name+"-undone")
			s.ledger.note(false, undone)
			err := pgx.BeginFunc(ctx, tx, func(savepoint pgx.Tx) error {
				return errors.Join(s.ob.Enqueue(ctx, savepoint, undone), errBusiness)
			})
			if !errors.Is(err, errBusiness) {
				return err
			}
		}
		if err := s.ob.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "SELECT pg_sleep($1)", rng.Float64()*0.01); err != nil {
			return err
		}
		if !commit {
			return errBusiness
		}
		return nil
	})
	if errors.Is(err, errBusiness) {
		err = nil
	}
	s.ledger.note(commit && err == nil, msgs...)
	return err
}

func (s *stage) randomMessages(rng *rand.Rand, name string) []outbox.Message {
	msgs := make([]outbox.Message, 1+rng.IntN(3))
	for i := range msgs {
		m := &msgs[i]
		*m = outbox.Message{
			ID:         fmt.Sprintf("%s-%d", name, i),
			Topic:      s.topics[rng.IntN(len(s.topics))],
			Type:       "thing.happened",
			Payload:    fmt.Appendf(nil, "payload of %s-%d", name, i),
			Headers:    map[string]string{"writer": name},
			OccurredAt: recently().Add(-time.Duration(rng.IntN(1000)) * time.Millisecond),
		}
		if rng.IntN(4) > 0 {
			m.Key = fmt.Sprint("key-", rng.IntN(6))
		}
	}
	return msgs
}
