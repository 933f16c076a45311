package pgwindow_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

const historySlots = 4

// leases are the statements under test. Each may be replaced by a form that
// is forbidden. The statement of a replaced call gets slot, owner, epoch and n.
type leases struct {
	own    *pglease.Statements
	window *pgwindow.Statements
	pool   *pgxpool.Pool
	broken map[int]string
}

// do executes a call. That the lease is held or lost is an answer.
func (l *leases) do(ctx context.Context, in request) (out reply, err error) {
	if sql, ok := l.broken[in.op]; ok {
		err := l.pool.QueryRow(ctx, sql, in.lease.Slot.No, in.lease.Owner, in.lease.Epoch, in.n).Scan(&out.n)
		out.ok = err == nil
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return out, err
	}
	switch in.op {
	case opClaim:
		var lease pglease.Lease
		lease, err = l.own.Claim(ctx, l.pool, in.lease.Slot, in.lease.Owner, in.former, historyTTL)
		out.n = lease.Epoch
	case opRenew:
		err = l.own.Renew(ctx, l.pool, in.lease, historyTTL)
	case opRelease:
		err = l.own.Release(ctx, l.pool, in.lease)
	case opAdvance:
		err = l.window.Advance(ctx, l.pool, in.lease, 0, in.n)
	case opRead:
		var w pgwindow.Window
		w, err = l.window.Load(ctx, l.pool, in.lease.Slot)
		out.n = w.Last
	}
	if errors.Is(err, driver.ErrLeaseHeld) || errors.Is(err, driver.ErrLeaseLost) {
		return reply{}, nil
	}
	out.ok = err == nil
	return out, err
}

// leaseHistory records what readers call and are answered.
type leaseHistory struct {
	leases *leases
	began  time.Time
	next   atomic.Int64 // what is written: unique, so that no write goes unnoticed

	mu      sync.Mutex
	ops     []porcupine.Operation
	unknown int
}

// do executes a call. One whose answer is lost returns never.
func (h *leaseHistory) do(ctx context.Context, client int, in request) reply {
	in.call = int64(time.Since(h.began))
	out, err := h.leases.do(ctx, in)
	out.ret = int64(time.Since(h.began))
	if err != nil {
		out = reply{unknown: true, ret: never}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if out.unknown {
		h.unknown++
	}
	h.ops = append(h.ops, porcupine.Operation{ClientId: client, Input: in, Call: in.call, Output: out, Return: out.ret})
	return out
}

// read is a client: it claims slots, stores positions, sleeps past its lease, dies
// with it or gives it back.
func (h *leaseHistory) read(ctx context.Context, rng *rand.Rand, client, rounds int) {
	for round := range rounds {
		in := request{op: opClaim}
		in.lease.Slot = pglease.Slot{Group: "g", No: int16(rng.IntN(historySlots))}
		in.lease.Owner = fmt.Sprintf("c%d/%d", client, round)
		if rng.IntN(2) == 0 {
			in.former = pglease.Former{Prefix: fmt.Sprintf("c%d/", client), Last: int64(round - 1)}
		}
		claimed := h.do(ctx, client, in)
		if !claimed.ok {
			_ = wait.For(ctx, time.Duration(rng.Int64N(historyTTL/2)))
			continue
		}
		in.lease.Epoch = claimed.n
		for range 1 + rng.IntN(4) {
			in.op = []int{opRenew, opAdvance, opAdvance, opRead}[rng.IntN(4)]
			in.n = 0
			if in.op == opAdvance {
				in.n = h.next.Add(1)
			}
			if rng.IntN(4) == 0 {
				_ = wait.For(ctx, time.Duration(rng.Int64N(2*historyTTL)))
			}
			h.do(ctx, client, in)
		}
		if rng.IntN(3) > 0 {
			in.op, in.n = opRelease, 0
			h.do(ctx, client, in)
		}
	}
}

// newLeases returns leases on a server of whose answers some are lost. Each slot has
// been held once.
func newLeases(t *testing.T, broken map[int]string) *leases {
	t.Helper()
	db, frail := newLog(t), &faultnet.Frail{}
	config, err := pgxpool.ParseConfig(db.URL)
	require.NoError(t, err)
	config.MaxConns = 6
	config.ConnConfig.DialFunc = frail.Dial
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	l := &leases{own: preparedLeases(t), window: prepared(t), pool: pool, broken: broken}
	for no := range int16(historySlots) {
		lease, err := l.own.Claim(t.Context(), db.Pool, pglease.Slot{Group: "g", No: no}, "first", pglease.Former{}, time.Minute)
		require.NoError(t, err)
		require.NoError(t, l.window.Start(t.Context(), db.Pool, lease, 0, 1))
		require.NoError(t, l.own.Release(t.Context(), db.Pool, lease))
	}
	frail.Arm(100)
	return l
}

// checkLeases lets readers work and reports whether their history could come from one
// reader after the other.
func checkLeases(t *testing.T, broken map[int]string) (porcupine.CheckResult, *leaseHistory) {
	t.Helper()
	h := &leaseHistory{leases: newLeases(t, broken), began: time.Now()}
	var wg sync.WaitGroup
	for client := range 6 {
		wg.Go(func() { h.read(t.Context(), rand.New(rand.NewPCG(rand.Uint64(), 1)), client, 25) })
	}
	wg.Wait()
	return porcupine.CheckOperationsTimeout(fencedRegister(), h.ops, time.Minute), h
}

// TestO9_O14_LeaseIsAFencedRegister: under pauses past the lease, readers that die and
// answers that are lost, leases and the positions that they guard behave as if one
// call came after the other. None is given away before it ends, no epoch is issued
// twice, and nobody writes whose lease had been taken before it asked.
func TestO9_O14_LeaseIsAFencedRegister(t *testing.T) {
	t.Parallel()
	for run := range 3 {
		result, h := checkLeases(t, nil)
		require.Equal(t, porcupine.Ok, result)
		accepted, refused := map[int]int{}, map[int]int{}
		for _, op := range h.ops {
			in, out := op.Input.(request), op.Output.(reply)
			if out.ok {
				accepted[in.op]++
			} else if !out.unknown {
				refused[in.op]++
			}
		}
		t.Logf("run %d: %d calls, %d without an answer, accepted %v, refused %v", run, len(h.ops), h.unknown, accepted, refused)
		for _, op := range []int{opClaim, opRenew, opAdvance, opRead, opRelease} {
			require.NotZero(t, accepted[op])
		}
		require.NotZero(t, refused[opClaim])
		require.NotZero(t, refused[opAdvance], "nobody was fenced")
	}
}

// TestO9_O14_ForbiddenLeasesAreNot is the negative control.
func TestO9_O14_ForbiddenLeasesAreNot(t *testing.T) {
	t.Parallel()
	const (
		lease = `UPDATE leat.outbox_leases SET lease_until = clock_timestamp() + interval '40 ms'`
		of    = ` WHERE relay_group = 'g' AND slot = $1 AND ($2::text, $3::bigint, $4::bigint) IS NOT NULL`
	)
	for name, broken := range map[string]map[int]string{
		"a lease is taken before it ends":   {opClaim: lease + `, owner = $2, epoch = epoch + 1` + of + ` RETURNING epoch`},
		"an epoch is issued twice":          {opClaim: lease + `, owner = $2` + of + ` AND (owner IS NULL OR lease_until <= clock_timestamp()) RETURNING epoch`},
		"whoever asks renews":               {opRenew: lease + of + ` RETURNING 0`},
		"a lease is given back by others":   {opRelease: `UPDATE leat.outbox_leases SET owner = NULL` + of + ` RETURNING 0`},
		"a position is written by a zombie": {opAdvance: `UPDATE leat.outbox_positions SET last = $4` + of + ` AND last < $4 RETURNING 0`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 20 {
				if result, _ := checkLeases(t, broken); result == porcupine.Illegal {
					return
				}
			}
			require.Fail(t, "the checker has not noticed")
		})
	}
}
