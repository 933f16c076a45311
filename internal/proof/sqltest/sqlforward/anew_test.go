package sqlforward_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/sqlforward"
)

// TestO2_TruncatedTableIsMovedFromItsStart: the numbers of a truncated table begin anew. They are below
// the position or have passed it, and the Forwarder is a running or a new one.
func TestO2_TruncatedTableIsMovedFromItsStart(t *testing.T) {
	t.Parallel()
	onTables(t, truncatedTableIsMovedFromItsStart)
}

func truncatedTableIsMovedFromItsStart(t *testing.T, x *table) {
	t.Helper()
	f := x.forwarder(t)
	want := x.fill(t, "before", 20)
	x.move(t, f)
	for round, n := range []int{5, 30, 0, 50} {
		x.exec(t, "TRUNCATE TABLE watermill_"+forwarderTopic)
		want = append(want, x.fill(t, "round "+strconv.Itoa(round), n)...)
		x.move(t, f)
		require.Equal(t, want, x.moved(t), "after %d rows", n)
		f = x.forwarder(t)
		x.move(t, f)
		require.Len(t, x.moved(t), len(want), "once")
	}
	if !x.cfg.Queue {
		x.exec(t, "TRUNCATE TABLE watermill_"+forwarderTopic)
		h, err := f.HandBack(t.Context())
		require.NoError(t, err)
		require.Equal(t, sqlforward.HandedBack{}, h)
	}
}

// TestO10_CleanedTableIsNotMovedAgain: deleting moved rows changes no numbers, and a transaction that
// commits late has a number below the position.
func TestO10_CleanedTableIsNotMovedAgain(t *testing.T) {
	t.Parallel()
	onTables(t, cleanedTableIsNotMovedAgain)
}

func cleanedTableIsNotMovedAgain(t *testing.T, x *table) {
	t.Helper()
	f := x.forwarder(t)
	want := x.fill(t, "before", 5)
	x.move(t, f)
	late := x.open(t, "late", "late")
	want = append(want, x.fill(t, "quick", 5)...)
	x.move(t, f)
	for _, n := range []int{1, 2, 4, 5, 7, 8, 9, 10, 11} { // not a range, which waits for the open transaction
		x.exec(t, "DELETE FROM watermill_"+forwarderTopic+" WHERE `offset` = ?", n)
	}
	x.move(t, f)
	require.NoError(t, late.Commit())
	x.move(t, x.forwarder(t))
	want = append(want, "late")
	require.Equal(t, want, x.moved(t))
	want = append(want, x.fill(t, "after", 3)...)
	x.move(t, f)
	require.Equal(t, want, x.moved(t))
}

// fill commits messages, one per transaction.
func (x *table) fill(t *testing.T, name string, n int) (all []string) {
	t.Helper()
	for i := range n {
		all = append(all, name+" "+strconv.Itoa(i))
		x.put(t, "k", all[i])
	}
	return all
}
