package heldqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// TestCheck: the invariant is tested on what it is about.
func TestCheck(t *testing.T) {
	t.Parallel()
	k, now := driver.Key{Topic: "orders", Key: "k"}, time.Now()
	row := func(seq int64, key driver.Key, state heldqueue.State) heldqueue.Row {
		r := heldqueue.Row{Seq: seq, Key: key, State: state, Since: now}
		if state == heldqueue.Retry {
			r.Next = now
		}
		return r
	}
	sound := []heldqueue.Row{
		row(1, k, heldqueue.Dead), row(2, k, heldqueue.Parked), row(3, k, heldqueue.Wait), row(4, driver.Key{}, heldqueue.Retry),
	}
	require.NoError(t, heldqueue.Check(sound))
	for complaint, extra := range map[string]heldqueue.Row{
		"is there twice":      row(1, driver.Key{Topic: "bills"}, heldqueue.Parked),
		"is the first":        row(5, driver.Key{Topic: "bills", Key: "k"}, heldqueue.Wait),
		"number 3":            row(5, k, heldqueue.Retry),
		"waits without a key": row(5, driver.Key{}, heldqueue.Wait),
		"its next time":       {Seq: 5, Since: now},
		"1 attempts":          {Seq: 5, Since: now, State: heldqueue.Dead, Attempts: 1},
	} {
		require.ErrorContains(t, heldqueue.Check(append(sound[:4:4], extra)), complaint)
	}
}
