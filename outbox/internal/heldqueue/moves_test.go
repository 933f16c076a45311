package heldqueue_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/leat-go/leat/outbox/driver"
)

// move is what a relay or an operator does next. It is data, so that a search can make a
// list of moves smaller.
type move struct {
	// Do is page, due, redrive, redrive_dead, drop, skip_head, pass or take_over.
	Do    string
	Keys  []string      // of page: of the records that come
	Fates []driver.Fate // of page and due: what happens to what is sent, in turn
	Later bool          // what is retried waits for an hour
	Limit int           // of due
	Key   string        // of redrive, drop and skip_head
}

func moves() *rapid.Generator[[]move] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			Do: rapid.SampledFrom([]string{
				"page", "page", "page", "due", "due", "due", "due", "redrive", "redrive", "redrive_dead", "drop", "skip_head", "pass", "take_over",
			}).Draw(t, "do"),
			Keys: rapid.SliceOfN(key(), 1, 6).Draw(t, "keys"),
			Fates: rapid.SliceOfN(rapid.SampledFrom([]driver.Fate{
				driver.FateDelivered, driver.FateDelivered, driver.FateRetry, driver.FatePark, driver.FateDead, driver.FateSkip,
			}), 1, 6).Draw(t, "fates"),
			Later: rapid.Bool().Draw(t, "later"),
			Limit: rapid.IntRange(1, 6).Draw(t, "limit"),
			Key:   rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
		}
	}), 1, 40)
}

// fate is what happens to the next record that is sent.
func (m *move) fate(turn *int) driver.Fate {
	f := m.Fates[*turn%len(m.Fates)]
	*turn++
	return f
}

func (m *move) retryIn() time.Duration {
	if m.Later {
		return later
	}
	return 0
}
