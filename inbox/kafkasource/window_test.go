package kafkasource

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// TestI3_LowWatermark: whatever the order in which records are settled, the low
// watermark is above all settled ones of the prefix, and never above one that is
// not settled.
//
//leat:level 0
func TestI3_LowWatermark(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.Int64Range(0, 5).Draw(t, "begin")
		w, next := newWindow(begin), begin
		open := map[int]int64{} // number → offset
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(open) == 0 || rapid.Bool().Draw(t, "add") {
				next += rapid.Int64Range(0, 2).Draw(t, "gap") // of compaction and transactions
				open[w.add(&kgo.Record{Offset: next, LeaderEpoch: 3})] = next
				next++
			} else {
				n := rapid.SampledFrom(keys(open)).Draw(t, "settle")
				delete(open, n)
				w.settle(n)
			}
			lowest := next
			for n, offset := range open {
				lowest = min(lowest, offset)
				if w.lowest(n) != (offset == minimum(open)) {
					t.Fatalf("lowest(%d) is wrong", n)
				}
			}
			if w.next > lowest {
				t.Fatalf("watermark %d passes offset %d", w.next, lowest)
			}
			if len(open) == 0 && w.next != next && w.next != begin {
				t.Fatalf("watermark %d, all below %d is settled", w.next, next)
			}
		}
	})
}

func keys(m map[int]int64) []int {
	out := make([]int, 0, len(m))
	for i := range 1000 {
		if _, ok := m[i]; ok {
			out = append(out, i)
		}
	}
	return out
}

func minimum(m map[int]int64) int64 {
	lowest := int64(1 << 62)
	for _, offset := range m {
		lowest = min(lowest, offset)
	}
	return lowest
}

// TestLanes_KeepTheOrderOfAKey: under any course of acks and nacks, of a key only
// the earliest record that is not settled is delivered, and every record in the end.
//
//leat:level 0
func TestLanes_KeepTheOrderOfAKey(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		serial := rapid.Bool().Draw(t, "serial")
		keyless := rapid.Bool().Draw(t, "keyless")
		l := newLanes(serial, keyless)
		left, waiting := map[string][]int{}, 0 // lane → numbers that are not settled
		var flying []*item
		now := time.Unix(0, 0)
		laneOf := func(r *kgo.Record, n int) string {
			switch {
			case serial:
				return "all"
			case r.Key == nil && keyless:
				return "none " + strconv.Itoa(n)
			default:
				return string(r.Key)
			}
		}
		added := rapid.IntRange(1, 60).Draw(t, "records")
		for n, steps := 0, 0; n < added || len(flying) > 0 || waiting > 0; steps++ {
			if steps > 10_000 {
				t.Fatal("records are never delivered")
			}
			switch it := l.peek(); {
			case n < added && rapid.Bool().Draw(t, "add"):
				r := &kgo.Record{}
				if k := rapid.IntRange(0, 3).Draw(t, "key"); k > 0 {
					r.Key = []byte{byte(k)}
				}
				l.add(&item{record: r, n: n})
				left[laneOf(r, n)] = append(left[laneOf(r, n)], n)
				waiting++
				n++
			case it != nil && rapid.Bool().Draw(t, "take"):
				l.take()
				if first := left[laneOf(it.record, it.n)][0]; first != it.n {
					t.Fatalf("record %d is delivered before %d", it.n, first)
				}
				flying = append(flying, it)
				waiting--
			case len(flying) > 0:
				i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
				it := flying[i]
				flying = append(flying[:i], flying[i+1:]...)
				if rapid.Bool().Draw(t, "nack") && steps < 5000 {
					l.delay(it, now.Add(time.Second))
					waiting++
				} else {
					lane := laneOf(it.record, it.n)
					left[lane] = left[lane][1:]
					l.settle(it)
				}
			default:
				now = now.Add(time.Second)
				l.wake(now)
			}
		}
		if len(l.byKey) > 0 {
			t.Fatalf("%d lanes are left", len(l.byKey))
		}
	})
}

//leat:level 0
func TestRedeliverAfter_DoublesUpToItsBound(t *testing.T) {
	t.Parallel()
	cfg := Config{RedeliverDelay: 100 * time.Millisecond, MaxRedeliverDelay: time.Second}
	for attempt, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 3: 400 * time.Millisecond, 4: 800 * time.Millisecond, 5: time.Second, 1000: time.Second,
	} {
		for range 100 {
			require.InDelta(t, want, cfg.redeliverAfter(attempt), float64(want)/4+1)
		}
	}
}
