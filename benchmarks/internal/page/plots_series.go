package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// under lists the benchmarks whose names begin with prefix, in the order in which they ran. The result
// omits the prefix.
func under(set *results.Set, prefix string) []string {
	var names []string
	known := map[string]bool{}
	for _, s := range set.Series() {
		if name, ok := strings.CutPrefix(s.Benchmark, prefix); ok && !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	return names
}

// ratesPlot draws, for each contender and for two of its percentiles, a line over the rate.
func ratesPlot(set *results.Set) (*plot.Plot, error) {
	const prefix = "LatencyRates/rate="
	rates := under(set, prefix)
	if len(rates) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to plot
	}
	p := newPlot("from when a message is due, by rate", "messages a second", "ms")
	ends := newEndLabels(p)
	shown := &extent{}
	for _, unit := range []string{"p50-ms", "p99-ms"} {
		for i, name := range contenders(set, prefix+rates[0], unit) {
			var points plotter.XYs
			for _, rate := range rates {
				x, err := strconv.ParseFloat(rate, 64)
				values := set.Values(results.Series{Benchmark: prefix + rate, Contender: name, Unit: unit})
				if err == nil && len(values) > 0 {
					points = append(points, plotter.XY{X: x, Y: max(compare.Median(values), 0.001)}) // a logarithmic axis has no zero
				}
			}
			line, err := addLine(p, points, hue(i))
			if err != nil {
				return nil, err
			}
			if unit == "p99-ms" {
				line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
			}
			ends.add(name+" "+strings.TrimSuffix(unit, "-ms"), line)
			shown.add(points)
		}
	}
	p.Add(ends)
	logarithmic(&p.X, shown.minX/room, shown.maxX)
	logarithmic(&p.Y, shown.minY/room, shown.maxY*room)
	return p, nil
}

func heldPlot(set *results.Set) (*plot.Plot, error) {
	p, shown, err := secondsPlot(set, "p99-ms", "99th percentile of messages due in a second", "ms")
	if p != nil {
		logarithmic(&p.Y, shown.minY/room, shown.maxY*room)
	}
	return p, err
}

func heldDeadPlot(set *results.Set) (*plot.Plot, error) {
	p, shown, err := secondsPlot(set, "dead-tuples", "dead tuples of all tables of the outbox", "tuples")
	if p != nil {
		p.Y.Min, p.Y.Max = 0, max(shown.maxY, 1)*room
	}
	return p, err
}

// secondsPlot draws a line for each contender through the medians of each second, and two vertical lines
// at the start and the end of the transaction.
func secondsPlot(set *results.Set, unit, title, axis string) (*plot.Plot, *extent, error) {
	const benchmark = "HeldTransaction"
	at := func(second int) string { return fmt.Sprintf("%s,second=%d", unit, second) }
	names := contenders(set, benchmark, at(0))
	if len(names) == 0 {
		return nil, nil, nil
	}
	p := newPlot(title, "second; a transaction is open between the two lines", axis)
	ends := newEndLabels(p)
	shown := &extent{}
	for i, name := range names {
		var points plotter.XYs
		for second := 0; ; second++ {
			values := set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: at(second)})
			if len(values) == 0 {
				break
			}
			y := compare.Median(values)
			if isTime(unit) {
				y = max(y, 0.001) // a logarithmic axis has no zero
			}
			points = append(points, plotter.XY{X: float64(second) + 0.5, Y: y})
		}
		line, err := addLine(p, points, hue(i))
		if err != nil {
			return nil, nil, err
		}
		ends.add(name, line)
		shown.add(points)
	}
	for _, mark := range []string{"held-from", "held-to"} {
		for _, x := range set.Values(results.Series{Benchmark: benchmark, Contender: names[0], Unit: mark}) {
			if _, err := addLine(p, plotter.XYs{{X: x, Y: shown.minY}, {X: x, Y: shown.maxY}}, hue(6)); err != nil {
				return nil, nil, err
			}
		}
	}
	p.X.Min = 0
	p.Add(ends)
	return p, shown, nil
}

// extent is the range of some points.
type extent struct {
	any                    bool
	minX, maxX, minY, maxY float64
}

func (e *extent) add(points plotter.XYs) {
	for _, at := range points {
		if !e.any {
			*e = extent{any: true, minX: at.X, maxX: at.X, minY: at.Y, maxY: at.Y}
		}
		e.minX, e.maxX = math.Min(e.minX, at.X), math.Max(e.maxX, at.X)
		e.minY, e.maxY = math.Min(e.minY, at.Y), math.Max(e.maxY, at.Y)
	}
}
