package history_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

// A fault counts only with work under way and a consequence.
func TestFaultsCountWithWorkAndConsequence(t *testing.T) {
	t.Parallel()
	s := tell(1, events)
	s.driver = append(
		s.driver,
		history.Line{Type: history.Fault, Point: "kafka", Kind: "kill", Inflight: 3, Consequence: "retry"},
		history.Line{Type: history.Fault, Point: "kafka", Kind: "kill", Inflight: 3},
		history.Line{Type: history.Fault, Point: "kafka", Kind: "kill", Consequence: "retry"},
		history.Line{Type: history.Fault, Point: "kafka", Kind: "kill"},
		history.Line{Type: history.Fault, Point: "kafka", Kind: "stop", Inflight: 1, Consequence: "takeover"},
	)
	v := s.check(t, t.TempDir())
	require.Empty(t, v.Violated())
	require.Equal(t, []history.FaultCount{
		{Point: "kafka", Kind: "kill", Injected: 4, Counted: 1, Consequences: map[string]int{"retry": 2}},
		{Point: "kafka", Kind: "stop", Injected: 1, Counted: 1, Consequences: map[string]int{"takeover": 1}},
	}, v.Faults[:2])
}

// A repeat is explained by a fault between the intent and the last copy, or not long
// before; when the last copy came, the records say, or the relay, or nobody.
func TestAFaultExplainsARepeatOnlyNearby(t *testing.T) {
	t.Parallel()
	const second = int64(1_000_000)
	intended := 100 * second
	for _, c := range []struct {
		name            string
		at, until, copy int64 // seconds after the intent; no copy: not known
		acked           int64
		reach           time.Duration
		convicted       bool
	}{
		{name: "in between", at: 1, until: 1, copy: 2},
		{name: "long before", at: -20, until: -20, copy: 2, convicted: true},
		{name: "not long before", at: -9, until: -9, copy: 2},
		{name: "too long before for this reach", at: -9, until: -9, copy: 2, reach: time.Second, convicted: true},
		{name: "begun long before", at: -60, until: 1, copy: 2},
		{name: "after the last copy", at: 5, until: 6, copy: 2, convicted: true},
		{name: "after a copy, but before an answer", at: 5, until: 6, copy: 2, acked: 7},
		{name: "at any time after, where none is known", at: 50, until: 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			s.producer = []history.Line{{Type: history.Intent, ID: "a", Key: "k", At: intended}}
			s.ledger = []history.Line{{Type: history.Ledger, ID: "a", Key: "k"}}
			s.driver = []history.Line{{
				Type: history.Fault, Point: "relay", Kind: "kill",
				At: intended + c.at*second, Until: intended + c.until*second,
			}}
			for i := range 2 {
				r := history.Line{Type: history.Record, ID: "a", Key: "k", Offset: int64(i)}
				if c.copy != 0 {
					r.At = intended + c.copy*second
				}
				s.records = append(s.records, r)
			}
			if c.acked != 0 {
				s.relay = []history.Line{{Type: history.Acked, ID: "a", At: intended + c.acked*second}}
			}
			s.subscription = history.Line{Of: history.EffectRow}
			dir := t.TempDir()
			s.write(t, dir)
			v, err := history.Check(t.Context(), dir, history.Options{Reach: c.reach})
			require.NoError(t, err)
			var convicts []string
			if c.convicted {
				convicts = []string{history.O10}
			}
			require.Equal(t, convicts, v.Violated(), fmt.Sprint(c))
		})
	}
}
