package heldqueue_test

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// step is one step of a script. It is data, so that a search can make a script smaller.
type step struct {
	// Do is hold, due, resolve, redrive, drop, skip_head, pass or take_over.
	Do string

	Records  []setAside // of hold
	Verdicts []setAside // of resolve: on what is due, in its order; Skip leaves one out
	Stale    bool       // of resolve: on what was due a step earlier
	Limit    int        // of due, redrive and drop; 0 is the default
	Except   []string   // of due

	// Of redrive and drop: by key, by the n-th id there was, or by a filter.
	Way    string
	Topic  string
	Key    string
	ID     int
	Topics string
	Kind   string
	Old    bool // only what was set aside before an hour
	Dead   bool
	Actor  string // of skip_head as well, as are Topic and Key
}

// setAside is a record with what happens to it.
type setAside struct {
	Topic, Key string
	SameID     bool // as others have
	Fate       driver.Fate
	Skip       bool // is not mentioned
	Failures   []outbox.FailureKind
	Many       bool // each failure sixty times
	Later      bool // is retried in an hour, not at once
	Reason     string
}

const (
	later = time.Hour     // until a record is retried that is not at once
	pass  = 2 * time.Hour // of a step in which time passes
	aged  = time.Hour     // of what is old
)

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(drawStep), 1, 25)
}

func drawStep(t *rapid.T) step {
	s := step{Do: rapid.SampledFrom([]string{
		"hold", "hold", "hold", "due", "resolve", "resolve", "resolve", "redrive", "redrive", "drop", "skip_head", "pass", "take_over",
	}).Draw(t, "do")}
	switch s.Do {
	case "hold":
		s.Records = rapid.SliceOfN(drawSetAside(driver.FateRetry, driver.FateWait, driver.FateWait, driver.FatePark, driver.FateDead, driver.FateSkip), 1, 5).Draw(t, "records")
	case "resolve":
		s.Verdicts = rapid.SliceOfN(drawSetAside(driver.FateRetry, driver.FatePark, driver.FateDead, driver.FateSkip, driver.FateDelivered), 1, 5).Draw(t, "verdicts")
		s.Stale = rapid.Bool().Draw(t, "stale")
	case "due":
		s.Limit = rapid.IntRange(1, 8).Draw(t, "limit")
		s.Except = rapid.SliceOfNDistinct(topic(), 0, 2, rapid.ID).Draw(t, "except")
	case "redrive", "drop":
		drawSelection(t, &s)
	case "skip_head":
		s.Topic, s.Key, s.Actor = topic().Draw(t, "topic"), key().Draw(t, "key"), actor().Draw(t, "actor")
	}
	return s
}

func drawSelection(t *rapid.T, s *step) {
	s.Way = rapid.SampledFrom([]string{"key", "id", "filter"}).Draw(t, "way")
	s.Dead = rapid.Bool().Draw(t, "dead")
	s.Actor = actor().Draw(t, "actor")
	s.Limit = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "limit")
	switch s.Way {
	case "key":
		s.Topic, s.Key = topic().Draw(t, "topic"), key().Draw(t, "key")
	case "id":
		s.ID = rapid.IntRange(0, 12).Draw(t, "id")
	default:
		s.Topics = rapid.SampledFrom([]string{"*", "orders*", "*s.eu", "bills"}).Draw(t, "topics")
		s.Kind = rapid.SampledFrom([]string{"", "", "unknown", "permanent"}).Draw(t, "kind")
		s.Old = rapid.Bool().Draw(t, "old")
	}
}

func drawSetAside(fates ...driver.Fate) *rapid.Generator[setAside] {
	return rapid.Custom(func(t *rapid.T) setAside {
		return setAside{
			Topic: topic().Draw(t, "topic"), Key: key().Draw(t, "key"),
			SameID:   rapid.IntRange(0, 5).Draw(t, "same id") == 5,
			Fate:     rapid.SampledFrom(fates).Draw(t, "fate"),
			Skip:     rapid.IntRange(0, 4).Draw(t, "skip") == 4,
			Failures: rapid.SliceOfN(rapid.SampledFrom([]outbox.FailureKind{outbox.FailureUnknown, outbox.FailurePermanent}), 0, 2).Draw(t, "failures"),
			Many:     rapid.IntRange(0, 7).Draw(t, "many") == 7,
			Later:    rapid.Bool().Draw(t, "later"),
			Reason:   rapid.SampledFrom([]string{"", "why", "a\x00b"}).Draw(t, "reason"),
		}
	})
}

func topic() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"orders", "orders", "orders.eu", "bills"})
}

func key() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "a", "a", "b", ""})
}

// actor is missing in few requests.
func actor() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"ann", "ann", "ann", "ann", "ann", "ann", "ann", ""})
}

func (s *setAside) retryIn() time.Duration {
	if s.Later {
		return later
	}
	return 0
}

func (s *setAside) attempts() []driver.Attempt {
	kinds := s.Failures
	if s.Many {
		kinds = slices.Repeat(kinds, 60)
	}
	all := make([]driver.Attempt, len(kinds))
	for i, kind := range kinds {
		at := time.Date(2026, 1, 2, 3, 4, 5, 678_000*(i+1), time.UTC)
		all[i] = driver.Attempt{At: at, Kind: kind, Error: "refused \xff " + kind.String()}
	}
	return all
}

func (s *setAside) holding(at int) driver.Holding {
	return driver.Holding{Index: at, Fate: s.Fate, Attempts: s.attempts(), RetryIn: s.retryIn(), Reason: s.Reason}
}

func (s *setAside) verdict(r *outbox.Record) driver.Verdict {
	return driver.Verdict{Record: r, Fate: s.Fate, Attempts: s.attempts(), RetryIn: s.retryIn(), Reason: s.Reason}
}

// selection is what a step selects, at a time.
func (s *step) selection(now time.Time, ids []string) admin.Selection {
	sel := admin.Selection{Dead: s.Dead, Limit: s.Limit}
	switch s.Way {
	case "key":
		sel.Topic, sel.Key = s.Topic, s.Key
	case "id":
		sel.ID = "unknown"
		if s.ID < len(ids) {
			sel.ID = ids[len(ids)-1-s.ID]
		}
	default:
		sel.Topics, sel.Kind = s.Topics, s.Kind
		if s.Old {
			sel.Before = now.Add(-aged)
		}
	}
	return sel
}

func (s *step) by() admin.By {
	return admin.By{Actor: s.Actor, Reason: "test"}
}
