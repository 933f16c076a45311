package bench_test

import (
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

var (
	rounds   = flag.Int("rounds", 9, "how many turns each contender has")
	messages = flag.Int("messages", 20_000, "how many messages a drain has; others have a part of them")
)

//leat:level 4
func TestMain(m *testing.M) {
	if size := os.Getenv(envFleet); size != "" {
		fleetProcess(size)
	}
	if address := os.Getenv(envRelay); address != "" {
		relayProcess(address)
	}
	testenv.Main(m)
}

// contender runs ops operations per turn.
type contender struct {
	name string
	ops  int
	run  func(round int) (spent, error)
}

// figures holds what each contender has spent in each turn.
type figures struct {
	ops   map[string]int
	spent map[string][]spent
}

// turns runs rounds of all contenders, after a warm-up that does not count. Every other round is in
// reverse order.
func turns(b *testing.B, contenders ...contender) figures {
	b.Helper()
	f := figures{map[string]int{}, map[string][]spent{}}
	for _, c := range contenders { // connections, and what is checked once
		_, err := c.run(*rounds)
		require.NoError(b, err, c.name)
		f.ops[c.name] = c.ops
	}
	for round := range *rounds {
		for place := range contenders {
			i := place
			if round%2 == 1 {
				i = len(contenders) - 1 - place
			}
			c := contenders[i]
			s, err := c.run(round)
			require.NoError(b, err, "%s, round %d", c.name, round)
			f.spent[c.name] = append(f.spent[c.name], s)
		}
	}
	b.ReportMetric(0, "ns/op") // an iteration is all rounds
	for _, c := range contenders {
		b.ReportMetric(median(f.rates(c.name)), c.name+"/s")
	}
	return f
}

// rates returns the operations per second of each turn.
func (f figures) rates(name string) (all []float64) {
	for _, s := range f.spent[name] {
		all = append(all, float64(f.ops[name])/s.took.Seconds())
	}
	return all
}

// total returns the cost of an operation over all turns: the processor time of both ends in microseconds,
// and the number of statements.
func (f figures) total(name string) (processor, statements float64) {
	var sum spent
	for _, s := range f.spent[name] {
		sum = sum.plus(s)
	}
	n := float64(f.ops[name] * len(f.spent[name]))
	return float64(sum.processor().Microseconds()) / n, float64(sum.statements) / n
}

// ratio returns how many times faster one is than the other: the median over the turns, and by processor
// time.
func (f figures) ratio(one, other string) (byTime, byProcessor float64) {
	var ratios []float64
	others := f.rates(other)
	for round, rate := range f.rates(one) {
		ratios = append(ratios, rate/others[round])
	}
	mine, _ := f.total(one)
	his, _ := f.total(other)
	return median(ratios), his / mine
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// inLanes calls work for 0 to n-1, in parallel lanes.
func inLanes(lanes, n int, work func(i int) error) error {
	errs := make([]error, lanes)
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := lane; i < n && errs[lane] == nil; i += lanes {
				errs[lane] = work(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
