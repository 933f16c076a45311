package wmforward_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/wmforward"
)

// handBackOfAQuietTable repeats nothing: the forwarder goes on behind the
// last message.
func handBackOfAQuietTable(t *testing.T, db *testenv.Database) {
	t.Helper()
	src := newSource(t, db, wmforward.Config{})
	put(t, db, "", "a", "b")
	put(t, db, "", "c")
	require.Equal(t, []string{"a", "b", "c"}, drain(t, src))

	to := newRecorder(100)
	startForwarder(t, db, to, 100) // it may run already: it finds nothing
	to.silent(t)
	require.Eventually(t, func() bool { // until no other test has a transaction under way
		h, err := src.HandBack(t.Context())
		if err == nil && h.Repeats > 0 {
			to.next(t, int(h.Repeats))
			awaitPosition(t, db, 3)
			require.Empty(t, drain(t, src))
		}
		return err == nil && h.Repeats == 0
	}, patience, 1)
	put(t, db, "", "d")
	require.Equal(t, []string{"d"}, to.next(t, 1))
	awaitPosition(t, db, 4)

	require.Empty(t, drain(t, src), "it takes over anew, where the forwarder stands by now")
	put(t, db, "", "e")
	require.Equal(t, []string{"e"}, drain(t, src))
	to.silent(t)
}

// handBackInTheMiddle: a part of a window is settled, transactions are under way
// that have drawn their numbers before and after it. The forwarder sends all that
// was not delivered, and repeats as many as was foretold.
func handBackInTheMiddle(seed uint64) func(t *testing.T, db *testenv.Database) {
	return func(t *testing.T, db *testenv.Database) {
		t.Helper()
		src := newSource(t, db, wmforward.Config{})
		all, delivered, open := scramble(t, rand.New(rand.NewPCG(seed, 1)), src, func() *writer { return begin(t, db) })

		h, err := src.HandBack(t.Context())
		require.NoError(t, err)
		for _, w := range open {
			w.commit()
		}
		to := newRecorder(10_000)
		startForwarder(t, db, to, 100)
		want := len(all) - len(delivered) + int(h.Repeats)
		got := to.next(t, want)
		to.silent(t)
		for _, m := range all {
			require.True(t, slices.Contains(delivered, m) || slices.Contains(got, m), "lost: %s", m)
		}
		repeated := 0
		for _, m := range got {
			if slices.Contains(delivered, m) {
				repeated++
			}
		}
		require.EqualValues(t, h.Repeats, repeated)
		require.Len(t, slices.Compact(slices.Sorted(slices.Values(got))), want, "the forwarder sends none twice")
	}
}

// scramble publishes in overlapping transactions and delivers a part. It returns
// all messages, those that were delivered, and the transactions that are still
// open.
func scramble(t *testing.T, rng *rand.Rand, src *wmforward.Source, begin func() *writer) (all, delivered []string, open []*writer) {
	t.Helper()
	s := acquire(t, src)
	for i := range 60 {
		switch w := rng.IntN(10); {
		case w < 3 && len(open) < 5:
			open = append(open, begin())
		case w < 7 && len(open) > 0:
			m := fmt.Sprintf("m%d", i)
			open[rng.IntN(len(open))].put("", m)
			all = append(all, m)
		case w < 8 && len(open) > 0:
			k := rng.IntN(len(open))
			open[k].commit()
			open = slices.Delete(open, k, k+1)
		default:
			page, err := s.Read(t.Context(), 1+rng.IntN(5))
			require.NoError(t, err)
			if n := len(page.Records); n > 0 {
				n = 1 + rng.IntN(n)
				require.NoError(t, s.Advance(t.Context(), page, n))
				delivered = append(delivered, payloads(page.Records[:n])...)
				if n < len(page.Records) { // a new session reads the rest
					require.NoError(t, s.Release(t.Context()))
					s = acquire(t, src)
				}
			}
		}
	}
	require.NoError(t, s.Release(t.Context()))
	return all, delivered, open
}

// handBackToTheNewestTransactionLoses is the negative control: the
// position of the last row that was delivered is not a prefix in the forwarder's
// order.
func handBackToTheNewestTransactionLoses(t *testing.T, db *testenv.Database) {
	t.Helper()
	src := newSource(t, db, wmforward.Config{})
	early := begin(t, db).put("", "early")
	put(t, db, "", "quick")
	require.Equal(t, []string{"quick"}, drain(t, src))
	exec(t, db, `UPDATE watermill_offsets_forwarder_topic o
		SET last_processed_transaction_id = m.transaction_id, offset_acked = m."offset" FROM watermill_forwarder_topic m`)
	early.commit()
	to := newRecorder(100)
	stop := startForwarder(t, db, to, 100)
	put(t, db, "", "next")
	require.Equal(t, []string{"next"}, to.next(t, 1), "negative control: early is lost")
	stop()

	require.Equal(t, []string{"early", "next"}, drain(t, src), "which its own position knows")
	h, err := src.HandBack(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, h.Repeats, int64(3))
}

// TestO2_TakeOverAfterHandBackUnderAnOpenTransaction: the position that was handed
// back is that transaction's.
func TestO2_TakeOverAfterHandBackUnderAnOpenTransaction(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src := newSource(t, db, wmforward.Config{})
	late := begin(t, db).put("", "late")
	put(t, db, "", "quick")
	require.Equal(t, []string{"quick"}, drain(t, src))
	h, err := src.HandBack(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, h.TransactionID, late.xid())
	require.EqualValues(t, 1, h.Repeats)
	require.Equal(t, []string{"quick"}, drain(t, src))
	late.commit()
	require.Equal(t, []string{"late"}, drain(t, src))
}

func TestO9_HandBackIsRefused(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	src, other := newSource(t, db, wmforward.Config{}), newSource(t, db, wmforward.Config{})
	_, err := src.HandBack(t.Context())
	require.ErrorIs(t, err, wmforward.ErrNothingToHandBack)

	put(t, db, "", "a")
	s := acquire(t, src)
	require.Len(t, readAll(t, s, 10), 1)
	_, err = other.HandBack(t.Context())
	require.ErrorIs(t, err, driver.ErrLeaseHeld, "while a relay runs")
	_, err = src.HandBack(t.Context())
	require.ErrorIs(t, err, driver.ErrLeaseHeld, "its own source's as well")
	require.NoError(t, s.Release(t.Context()))

	exec(t, db, `INSERT INTO watermill_forwarder_topic_leat_held (relay_group, seq, state, epoch, created_at, id, shard, topic, payload)
		VALUES ('default', 1, 'parked', 1, now(), gen_random_uuid(), 0, 'events', '')`)
	_, err = src.HandBack(t.Context())
	require.ErrorIs(t, err, wmforward.ErrRecordsHeld)
	exec(t, db, "DELETE FROM watermill_forwarder_topic_leat_held")
	_, err = other.HandBack(t.Context())
	require.NoError(t, err)
}
