package sqlforward_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/sqlforward"
)

// TestO2_LateCommitIsMoved: an open transaction delays no other, and is not passed over.
func TestO2_LateCommitIsMoved(t *testing.T) {
	t.Parallel()
	onTables(t, lateCommitIsMoved)
}

func lateCommitIsMoved(t *testing.T, x *table) {
	t.Helper()
	x.cfg.GapAge = time.Second
	f := x.forwarder(t)
	late := x.open(t, "k", "late 1", "late 2")
	require.NoError(t, x.open(t, "k", "never").Rollback())
	x.put(t, "l", "b")
	require.Equal(t, 1, x.move(t, f), "three numbers side by side")
	require.Equal(t, []string{"b"}, x.moved(t))
	require.NoError(t, wait.For(t.Context(), 1500*time.Millisecond)) // the database's clock
	require.Equal(t, 1, x.move(t, f), "a transaction is at them")
	x.put(t, "k", "c")
	require.NoError(t, late.Commit())
	x.move(t, f)
	require.Equal(t, []string{"b", "late 1", "late 2", "c"}, x.moved(t), "what was missing comes first")
	require.NoError(t, wait.For(t.Context(), 1100*time.Millisecond))
	require.Zero(t, x.move(t, f), "what was rolled back is given up")
}

// TestO6_MalformedRowIsSetAside: a malformed row is set aside with the reason, and holds up no other row.
func TestO6_MalformedRowIsSetAside(t *testing.T) {
	t.Parallel()
	onTables(t, malformedRowIsSetAside)
}

func malformedRowIsSetAside(t *testing.T, x *table) {
	t.Helper()
	f := x.forwarder(t)
	x.put(t, "k", "a")
	insert := "INSERT INTO watermill_" + forwarderTopic + " (uuid, payload, metadata) VALUES ('u', ?, '{}')"
	x.exec(t, insert, `"text"`)
	x.exec(t, insert, `{"destination_topic": "t", "metadata": {"_watermill_message_uuid": "x"}}`)
	x.exec(t, insert, `{"destination_topic": "t", "metadata": {"": "no name"}}`) // the outbox refuses it
	x.exec(t, "INSERT INTO watermill_"+forwarderTopic+" (uuid, payload, metadata) VALUES ('u', NULL, '{}')")
	x.put(t, "k", "b")
	r, err := f.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, sqlforward.Report{Moved: 2, Malformed: 4}, r)
	require.Equal(t, []string{"a", "b"}, x.moved(t))
	var reasons string
	require.NoError(t, x.db.QueryRowContext(t.Context(),
		"SELECT GROUP_CONCAT(CONVERT(reason USING utf8mb4) ORDER BY no) FROM leat_forward_malformed WHERE uuid = 'u'").Scan(&reasons))
	require.Contains(t, reasons, "not an envelope")
	require.Contains(t, reasons, "reserved for the message's UUID")
	require.Contains(t, reasons, "Headers")
}

// TestCheck: the error names what is missing, or that the schema is a different one.
func TestCheck(t *testing.T) {
	t.Parallel()
	onTables(t, checkNames)
}

func checkNames(t *testing.T, x *table) {
	t.Helper()
	f, err := sqlforward.New(x.db, x.dialect, x.ob, x.cfg)
	require.NoError(t, err)
	require.ErrorIs(t, f.Run(t.Context()), outbox.ErrNotMigrated)
	other := sqlforward.Config{Queue: !x.cfg.Queue}
	f, err = sqlforward.New(x.db, x.dialect, x.ob, other)
	require.NoError(t, err)
	require.NoError(t, f.Migrate(t.Context()))
	require.ErrorContains(t, f.Run(t.Context()), "has another schema")
	x.cfg.Table = "none"
	require.ErrorContains(t, x.forwarder(t).Check(t.Context()), "table none does not exist")
}

// TestO1_O2_O5_ManyWritersAndMovers: producers take turns on their keys, and some transactions roll back
// or take long. Three Forwarders take turns, too, and are stopped at any moment. Each message is moved
// once, those of a key in the order of their commits.
func TestO1_O2_O5_ManyWritersAndMovers(t *testing.T) {
	t.Parallel()
	onTables(t, manyWritersAndMovers)
}

func manyWritersAndMovers(t *testing.T, x *table) {
	t.Helper()
	const writers, keys, rounds = 6, 4, 25
	x.exec(t, "CREATE TABLE turns (k INT PRIMARY KEY, n INT NOT NULL)")
	for k := range keys {
		x.exec(t, "INSERT INTO turns VALUES (?, 0)", k)
	}
	x.forwarder(t)
	ctx, stop := context.WithCancel(t.Context())
	var movers, producers sync.WaitGroup
	for m := range 3 {
		f := x.forwarder(t)
		movers.Go(func() {
			for seed := uint64(m); ctx.Err() == nil; seed += 3 {
				life, end := context.WithTimeout(ctx, time.Duration(rand.New(rand.NewPCG(seed, 1)).IntN(200)+20)*time.Millisecond)
				if err := f.Run(life); err != nil {
					t.Error(err)
				}
				end()
			}
		})
	}
	for w := range writers {
		chance := rand.New(rand.NewPCG(uint64(w), 2))
		producers.Go(func() {
			for range rounds {
				if err := x.turn(ctx, chance, keys); err != nil {
					t.Error(err)
				}
			}
		})
	}
	producers.Wait()
	stop()
	movers.Wait()

	want, all := map[string]int{}, 0
	for k := range keys {
		var n int
		require.NoError(t, x.db.QueryRowContext(t.Context(), "SELECT n FROM turns WHERE k = ?", k).Scan(&n))
		want[strconv.Itoa(k)] = n
		all += n
	}
	// The server may still be at the end of a transaction whose mover was stopped: meanwhile others leave the page to it.
	require.Eventually(t, func() bool {
		x.move(t, x.forwarder(t))
		return len(x.moved(t)) >= all
	}, time.Minute, 10*time.Millisecond)
	got := map[string]int{}
	for _, payload := range x.moved(t) {
		key, number, _ := strings.Cut(payload, ":")
		n, err := strconv.Atoi(number)
		require.NoError(t, err)
		require.Equal(t, got[key]+1, n, "of key %s", key)
		got[key] = n
	}
	require.Equal(t, want, got)
}

// turn publishes the next number of a key, in a transaction that has locked the key's row.
func (x *table) turn(ctx context.Context, chance *rand.Rand, keys int) error {
	tx, err := x.plain.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // a part of them
	k := chance.IntN(keys)
	var n int
	if _, err := tx.ExecContext(ctx, "UPDATE turns SET n = n + 1 WHERE k = ?", k); err != nil {
		return err
	}
	if err := tx.QueryRowContext(ctx, "SELECT n FROM turns WHERE k = ?", k).Scan(&n); err != nil {
		return err
	}
	if err := x.publish(tx, strconv.Itoa(k), fmt.Sprintf("%d:%d", k, n)); err != nil {
		return err
	}
	if chance.IntN(10) == 0 {
		_ = wait.For(ctx, 20*time.Millisecond)
	}
	if chance.IntN(5) == 0 {
		return nil
	}
	return tx.Commit()
}
