package sqlforward_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/wait"
)

// TestO10_TakesThePlaceAndGivesItBack: rows that Watermill's forwarder has sent are not moved, it does not
// send rows that were moved, and nothing is missing.
func TestO10_TakesThePlaceAndGivesItBack(t *testing.T) {
	t.Parallel()
	onTables(t, takesThePlaceAndGivesItBack)
}

func takesThePlaceAndGivesItBack(t *testing.T, x *table) {
	t.Helper()
	sent := make(chan string, 100)
	x.put(t, "k", "a", "b")
	stop := x.watermill(t, sent, nil)
	require.Equal(t, []string{"a", "b"}, []string{<-sent, <-sent})
	x.idle(t)
	stop()

	x.put(t, "k", "c")
	f := x.forwarder(t)
	_, err := f.HandBack(t.Context())
	require.ErrorContains(t, err, "the forwarder's place was not taken")
	x.move(t, f)
	require.Equal(t, []string{"c"}, x.moved(t))

	// Started again by mistake, the forwarder takes nothing that was moved.
	stop = x.watermill(t, sent, nil)
	require.NoError(t, wait.For(t.Context(), 50*time.Millisecond))
	stop()
	require.Empty(t, sent)

	x.put(t, "k", "d")
	x.move(t, f)
	handed, err := f.HandBack(t.Context())
	require.NoError(t, err)
	require.Zero(t, handed.Repeats)
	x.put(t, "k", "e")
	stop = x.watermill(t, sent, nil)
	require.Equal(t, "e", <-sent)
	stop()
	require.Empty(t, sent)
	require.Equal(t, []string{"c", "d"}, x.moved(t))
}

// TestO2_TakesOverBesideAnOpenTransaction: a transaction with lower numbers commits after the takeover.
// Its rows are moved, and rows that the forwarder has sent are not.
func TestO2_TakesOverBesideAnOpenTransaction(t *testing.T) {
	t.Parallel()
	onTables(t, takesOverBesideAnOpenTransaction)
}

func takesOverBesideAnOpenTransaction(t *testing.T, x *table) {
	t.Helper()
	sent := make(chan string, 100)
	x.put(t, "k", "a", "b")
	stop := x.watermill(t, sent, nil)
	require.Equal(t, []string{"a", "b"}, []string{<-sent, <-sent})
	x.idle(t)
	stop()
	late := x.open(t, "late", "late")
	x.put(t, "k", "c")
	f := x.forwarder(t)
	require.Equal(t, 1, x.move(t, f))
	require.NoError(t, late.Commit())
	x.move(t, f)
	require.Equal(t, []string{"c", "late"}, x.moved(t))
}

// TestO10_WaitsForTheForwardersBatch: a forwarder that is sending keeps its batch. If it does not finish,
// the error names it.
func TestO10_WaitsForTheForwardersBatch(t *testing.T) {
	t.Parallel()
	onTables(t, waitsForTheForwardersBatch)
}

func waitsForTheForwardersBatch(t *testing.T, x *table) {
	t.Helper()
	x.cfg.TakeOverTimeout = time.Second
	sent, block := make(chan string, 100), make(chan struct{})
	x.put(t, "k", "a", "b")
	stop := x.watermill(t, sent, block)
	require.Equal(t, "a", <-sent)
	f := x.forwarder(t)
	_, err := f.RunOnce(t.Context())
	require.ErrorContains(t, err, "a forwarder is at work and holds its position")
	close(block)
	require.Equal(t, "b", <-sent)
	x.idle(t)
	stop()
	x.put(t, "k", "c")
	x.move(t, f)
	require.Empty(t, sent)
	require.Equal(t, []string{"c"}, x.moved(t))
}

// TestO10_HandBackBehindAnOpenTransaction: handing back while a transaction is open loses nothing, and
// repeats only what it must.
func TestO10_HandBackBehindAnOpenTransaction(t *testing.T) {
	t.Parallel()
	onTables(t, handBackBehindAnOpenTransaction)
}

func handBackBehindAnOpenTransaction(t *testing.T, x *table) {
	t.Helper()
	f := x.forwarder(t)
	x.put(t, "k", "a")
	open := x.open(t, "late", "late")
	require.NoError(t, x.open(t, "k", "never").Rollback())
	x.put(t, "k", "b")
	require.Equal(t, 1, x.move(t, f))
	handed, err := f.HandBack(t.Context())
	require.NoError(t, err)
	require.NoError(t, open.Commit())
	want := []string{"late"}
	if !x.cfg.Queue {
		require.EqualValues(t, 1, handed.Repeats)
		want = []string{"late", "b"}
	}
	sent := make(chan string, 100)
	stop := x.watermill(t, sent, nil)
	for _, w := range want {
		require.Equal(t, w, <-sent)
	}
	stop()
	require.Empty(t, sent)
}

// TestO10_PlacesAreTakenOnce: a second Forwarder that would send as well is refused.
func TestO10_PlacesAreTakenOnce(t *testing.T) {
	t.Parallel()
	onTables(t, placesAreTakenOnce)
}

func placesAreTakenOnce(t *testing.T, x *table) {
	t.Helper()
	if x.cfg.Queue {
		t.Skip("a queue has no place: each row is taken once")
	}
	x.move(t, x.forwarder(t))
	x.cfg.StateTable = "others"
	_, err := x.forwarder(t).RunOnce(t.Context())
	require.ErrorContains(t, err, "was taken over already")

	// Somebody puts the forwarder back: it is put away again.
	x.cfg.StateTable = ""
	x.put(t, "k", "a")
	x.exec(t, fmt.Sprintf("UPDATE watermill_offsets_%s SET offset_acked = 0", forwarderTopic))
	x.move(t, x.forwarder(t))
	var acked int64
	require.NoError(t, x.db.QueryRowContext(t.Context(),
		"SELECT offset_acked FROM watermill_offsets_"+forwarderTopic).Scan(&acked))
	require.Equal(t, int64(math.MaxInt64), acked)
	require.Equal(t, []string{"a"}, x.moved(t))
}

// TestO10_RefusesAnotherGroup: if another group has a position and this one has none, the configuration is
// wrong, and nothing is moved.
func TestO10_RefusesAnotherGroup(t *testing.T) {
	t.Parallel()
	onTables(t, refusesAnotherGroup)
}

func refusesAnotherGroup(t *testing.T, x *table) {
	t.Helper()
	if x.cfg.Queue {
		t.Skip("a queue has no groups")
	}
	x.exec(t, "INSERT INTO watermill_offsets_"+forwarderTopic+" (consumer_group, offset_acked, offset_consumed) VALUES ('fwd', 1, 1)")
	x.put(t, "k", "a", "b")
	err := x.forwarder(t).Run(t.Context())
	require.ErrorContains(t, err, "the consumer group has no position")
	require.ErrorContains(t, err, `["fwd"]`)
	require.Empty(t, x.moved(t))
	x.cfg.ConsumerGroup = "fwd"
	x.move(t, x.forwarder(t))
	require.Equal(t, []string{"b"}, x.moved(t))
}
