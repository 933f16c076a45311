package dedupetest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/dedupetest"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/dedupe/pgdedupe"
	"github.com/leat-go/leat/dedupe/redisdedupe"
	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/wait"
)

// history records what clients call and are answered.
type history struct {
	store dedupetest.Subject
	lost  float64 // the part of the answers that is dropped on arrival
	began time.Time

	mu  sync.Mutex
	ops []porcupine.Operation
}

func (h *history) now() int64 { return int64(time.Since(h.began)) }

// do calls the store. A call whose answer is lost returns never.
func (h *history) do(ctx context.Context, rng *rand.Rand, client int, in request) reply {
	var out reply
	var err error
	k, lease := dedupe.Key{Consumer: "c", ID: in.key}, time.Duration(in.lease)
	in.call = h.now()
	switch in.op {
	case opClaim:
		out.claim, err = h.store.Claim(ctx, k, dedupe.Request{Token: in.token, Lease: lease})
	case opExtend:
		err = h.store.Extend(ctx, k, in.token, lease)
		if errors.Is(err, dedupe.ErrFenced) {
			out.fenced, err = true, nil
		}
	case opComplete:
		out.completion, err = h.store.Complete(ctx, k, in.token, nil)
	case opRelease:
		err = h.store.Release(ctx, k, in.token)
	case opLose:
		err = h.store.Lose(ctx, k)
	}
	out.ret = h.now()
	if err != nil || rng.Float64() < h.lost {
		out = reply{unknown: true, ret: never}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: in.call, Output: out, Return: out.ret})
	return out
}

// work is a client: it claims messages, keeps some for longer than the lease, dies
// with some, and ends others.
func (h *history) work(ctx context.Context, rng *rand.Rand, client, rounds, keys int) {
	const lease = int64(40 * time.Millisecond)
	for round := range rounds {
		in := request{key: fmt.Sprint("m", rng.IntN(keys)), token: fmt.Sprintf("t%d-%d", client, round), lease: lease}
		call := func(op int) reply {
			in.op = op
			return h.do(ctx, rng, client, in)
		}
		if out := call(opClaim); out.unknown && rng.IntN(2) == 0 {
			call(opClaim) // as a client does that was not answered
		}
		if rng.IntN(3) == 0 {
			_ = wait.For(ctx, time.Duration(rng.Int64N(2*lease)))
		}
		if rng.IntN(3) == 0 {
			call(opExtend)
		}
		switch dice := rng.IntN(10); {
		case dice < 3: // killed
		case dice < 5:
			call(opRelease)
		case dice < 6:
			call(opLose)
		case dice < 7:
			call(opRelease)
			call(opComplete)
		default:
			if call(opComplete).unknown {
				call(opComplete)
			}
		}
	}
}

// check lets clients work and reports whether the history could come from one client
// after the other.
func check(t *testing.T, store dedupetest.Subject, lost float64) porcupine.CheckResult {
	t.Helper()
	h := &history{store: store, lost: lost, began: time.Now()}
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() { h.work(t.Context(), rand.New(rand.NewPCG(rand.Uint64(), 1)), client, 25, 8) })
	}
	wg.Wait()
	return porcupine.CheckOperationsTimeout(sequential(), h.ops, time.Minute)
}

// onRedis and onPostgres are stores whose calls lose their connections, and lose
// records on connections that hold.
func onRedis(t *testing.T) dedupetest.Subject {
	t.Helper()
	env, f := testenv.Redis(t), &faultnet.Frail{}
	f.Arm(50)
	sound := redis.NewClient(&redis.Options{Addr: env.Addr})
	client := redis.NewClient(&redis.Options{Addr: env.Addr, Dialer: f.Dial, MaxRetries: -1})
	t.Cleanup(func() { _, _ = client.Close(), sound.Close() })
	s, err := redisdedupe.New(client, redisdedupe.Config{Prefix: env.Prefix})
	require.NoError(t, err)
	return losing{s, func(ctx context.Context, k dedupe.Key) error { return sound.Del(ctx, env.Prefix+"1:c:"+k.ID).Err() }}
}

func onPostgres(t *testing.T) dedupetest.Subject {
	t.Helper()
	db, f := testenv.Postgres(t), &faultnet.Frail{}
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.ConnConfig.DialFunc, config.MaxConns = f.Dial, 6
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, err := pgdedupe.New(pool, pgdedupe.Config{})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	f.Arm(50)
	return losing{s, func(ctx context.Context, k dedupe.Key) error {
		_, err := db.Pool.Exec(ctx, "DELETE FROM leat.dedupe WHERE id = $1", []byte(k.ID))
		return err
	}}
}

type losing struct {
	dedupe.Store

	lose func(ctx context.Context, k dedupe.Key) error
}

func (l losing) Lose(ctx context.Context, k dedupe.Key) error { return l.lose(ctx, k) }

func newForbidden(t *testing.T, f forbidden) dedupetest.Subject {
	t.Helper()
	store, err := memdedupe.New(memdedupe.Config{})
	require.NoError(t, err)
	f.Store = store
	return f
}

// TestD1_D5_Linearizable checks histories of each store under pauses, clients that
// die with a claim, lost records, answers and connections.
//
//leat:level 1
func TestD1_D5_Linearizable(t *testing.T) {
	t.Parallel()
	for name, newStore := range map[string]func(t *testing.T) dedupetest.Subject{
		"memory":   func(t *testing.T) dedupetest.Subject { t.Helper(); return newForbidden(t, forbidden{}) },
		"redis":    onRedis,
		"postgres": onPostgres,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 3 {
				require.Equal(t, porcupine.Ok, check(t, newStore(t), 0.05))
			}
		})
	}
}

// TestD1_D5_ForbiddenAreNotLinearizable is the negative control.
func TestD1_D5_ForbiddenAreNotLinearizable(t *testing.T) {
	t.Parallel()
	all := variants()
	for _, name := range []string{
		"complete without a look at the token", "two tokens at once", "a lease that ends early",
		"mark before the handler, as SETNX does", "release what is another's", "extend for anybody",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, ok := all[name]
			require.True(t, ok)
			for range 20 {
				if check(t, newForbidden(t, v.broken), 0.05) == porcupine.Illegal {
					return
				}
			}
			require.Fail(t, "the checker has not noticed")
		})
	}
}
