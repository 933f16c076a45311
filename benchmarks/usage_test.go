package benchmarks

import (
	"maps"
	"runtime/metrics"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// memoryInUse is what the Go program uses of the heap and for stacks.
func memoryInUse() uint64 {
	samples := []metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
	}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		sum += s.Value.Uint64()
	}
	return sum
}

// processorTime is what this process has used of the processors.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// processorUse collects what contenders use of the processors in this process, in
// µs an operation. Other work on the machine disturbs that far less than rates.
type processorUse struct {
	used map[string][]float64
}

// of returns c, observed.
func (u *processorUse) of(c compare.Contender) compare.Contender {
	if u.used == nil {
		u.used = make(map[string][]float64)
	}
	run := c.Run
	c.Run = func(round int) (time.Duration, error) {
		before := processorTime()
		took, err := run(round)
		used := (processorTime() - before).Seconds() * 1e6
		u.used[c.Name] = append(u.used[c.Name], used/float64(c.Ops))
		return took, err
	}
	return c
}

// report reports the medians, and records what it has collected.
func (u *processorUse) report(b *testing.B) {
	b.Helper()
	const unit = "cpu-µs/op"
	for _, name := range slices.Sorted(maps.Keys(u.used)) {
		b.ReportMetric(compare.Median(u.used[name]), name+"-"+unit)
		results.Record(b, name, unit, u.used[name]...)
	}
}
