package page

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

// The size of a plot, and the factor by which its axes extend beyond the data.
const (
	plotWidth  = 20 * vg.Centimeter
	plotHeight = 8 * vg.Centimeter
	room       = 1.3
)

// writePlots writes the plots for the samples.
func writePlots(folder string, set *results.Set) error {
	for name, draw := range map[string]func(*results.Set) (*plot.Plot, error){
		"drain.svg": drainPlot, "latency.svg": latencyPlot, "backlog.svg": backlogPlot, "remembered.svg": rememberedPlot,
		"rates.svg": ratesPlot, "held.svg": heldPlot, "held-dead-tuples.svg": heldDeadPlot,
	} {
		p, err := draw(set)
		if err == nil && p != nil {
			err = savePlot(p, filepath.Join(folder, name))
		}
		if err != nil {
			return fmt.Errorf("plot %s: %w", name, err)
		}
	}
	return nil
}

// drainPlot draws a row for each contender, with a dot for each round and a line at the median.
func drainPlot(set *results.Set) (*plot.Plot, error) {
	const benchmark, unit = "RelayDrain/broker=kafka", "msg/s"
	names := fastest(set, benchmark, unit)
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to plot
	}
	p := newPlot("from Postgres to Kafka, all rounds", "messages a second", "")
	lowest, highest := math.Inf(1), 0.0
	for i, name := range names {
		values := set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: unit})
		row := float64(len(names) - 1 - i) // the fastest is at the top
		dots := make(plotter.XYs, len(values))
		for j, v := range values {
			dots[j] = plotter.XY{X: v, Y: row}
			lowest, highest = min(lowest, v), max(highest, v)
		}
		median := compare.Median(values)
		const half = 0.25
		mark := plotter.XYs{{X: median, Y: row - half}, {X: median, Y: row + half}}
		if err := addDots(p, dots, hue(0)); err != nil {
			return nil, err
		}
		if _, err := addLine(p, mark, hue(1)); err != nil {
			return nil, err
		}
	}
	logarithmic(&p.X, lowest/room, highest*room)
	rows := make([]plot.Tick, len(names))
	for i, name := range names {
		rows[i] = plot.Tick{Value: float64(len(names) - 1 - i), Label: name}
	}
	p.Y.Tick.Marker = plot.ConstantTicks(rows)
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	return p, nil
}

// latencyPlot draws a line for each case. It shows the medians of the percentiles.
func latencyPlot(set *results.Set) (*plot.Plot, error) {
	const benchmark = "Latency"
	percents := []float64{50, 75, 90, 95, 99, 99.9}
	unit := func(percent float64) string { return fmt.Sprintf("p%g-ms", percent) }
	// On this axis 90, 99 and 99.9 % have equal distances.
	place := func(percent float64) float64 { return -math.Log10(1 - percent/100) }
	names := contenders(set, benchmark, unit(percents[0]))
	if len(names) == 0 {
		return nil, nil //nolint:nilnil // there is nothing to plot
	}
	p := newPlot("from when a message is due to Kafka's answer", "percentile", "ms")
	var ticks []plot.Tick
	for _, percent := range percents {
		ticks = append(ticks, plot.Tick{Value: place(percent), Label: fmt.Sprintf("%g", percent)})
	}
	p.X.Tick.Marker = plot.ConstantTicks(ticks)
	ends := newEndLabels(p)
	lowest, highest := math.Inf(1), 0.0
	for i, name := range names {
		var points plotter.XYs
		for _, percent := range percents {
			values := set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: unit(percent)})
			if len(values) > 0 {
				ms := max(compare.Median(values), 0.001) // a logarithmic axis has no zero
				points = append(points, plotter.XY{X: place(percent), Y: ms})
				lowest, highest = min(lowest, ms), max(highest, ms)
			}
		}
		line, err := addLine(p, points, hue(i))
		if err != nil {
			return nil, err
		}
		ends.add(name, line)
	}
	p.Add(ends)
	logarithmic(&p.Y, lowest/room, highest*room)
	return p, nil
}

func backlogPlot(set *results.Set) (*plot.Plot, error) {
	return costPlot(set, "Backlog", "waiting", "cost of a record, all rounds", "messages that wait", []string{"small", "backlog"})
}

func rememberedPlot(set *results.Set) (*plot.Plot, error) {
	return costPlot(set, "InboxRemembered", "ids", "cost of a message, all rounds", "ids that are remembered", []string{"small", "large"})
}

// costPlot draws the cost of an operation in µs over an amount of existing data. The amount should not
// matter.
func costPlot(set *results.Set, benchmark, amount, title, over string, names []string) (*plot.Plot, error) {
	var dots, medians plotter.XYs
	for _, name := range names {
		amounts := set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: amount})
		rates := set.Values(results.Series{Benchmark: benchmark, Contender: name, Unit: "msg/s"})
		if len(amounts) == 0 || len(rates) == 0 {
			return nil, nil //nolint:nilnil // there is nothing to plot
		}
		for _, rate := range rates {
			dots = append(dots, plotter.XY{X: amounts[0], Y: 1e6 / rate})
		}
		medians = append(medians, plotter.XY{X: amounts[0], Y: 1e6 / compare.Median(rates)})
	}
	p := newPlot(title, over, "µs")
	if err := addDots(p, dots, hue(0)); err != nil {
		return nil, err
	}
	if _, err := addLine(p, medians, hue(1)); err != nil {
		return nil, err
	}
	logarithmic(&p.X, medians[0].X/room, medians[len(medians)-1].X*room)
	p.Y.Min, p.Y.Max = 0, p.Y.Max*room
	return p, nil
}

func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.BackgroundColor = color.White
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		style.Font.Variant = "Sans"
	}
	p.Add(plotter.NewGrid())
	return p
}

func logarithmic(axis *plot.Axis, low, high float64) {
	axis.Min, axis.Max = low, high
	axis.Scale = plot.LogScale{}
	axis.Tick.Marker = plot.TickerFunc(ticks)
}

// ticks returns the ticks of a logarithmic axis: 1, 2 and 5, times a power of ten.
func ticks(low, high float64) (all []plot.Tick) {
	for power := math.Pow(10, math.Floor(math.Log10(low))); power <= high; power *= 10 {
		for _, of := range []float64{1, 2, 5} {
			if value := of * power; low <= value && value <= high {
				all = append(all, plot.Tick{Value: value, Label: english("%.9g", value)})
			}
		}
	}
	return all
}

func addLine(p *plot.Plot, points plotter.XYs, of color.RGBA) (*plotter.Line, error) {
	line, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = of, vg.Points(1.5)
	p.Add(line)
	return line, nil
}

func addDots(p *plot.Plot, points plotter.XYs, of color.RGBA) error {
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.Color, dots.Radius, dots.Shape = of, vg.Points(2.5), draw.CircleGlyph{}
	p.Add(dots)
	return nil
}

// hue returns colour i of a list of colours that colour-blind readers can distinguish, too.
func hue(i int) color.RGBA {
	hues := []color.RGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
		{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
		{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
		{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
		{A: 0xff},
	}
	return hues[i%len(hues)]
}

// savePlot writes the plot as SVG.
func savePlot(p *plot.Plot, path string) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	const margin = 2 * vg.Millimeter
	p.Draw(draw.Crop(draw.New(canvas), margin, -margin, margin, -margin))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	return os.WriteFile(path, themed(svg.Bytes()), 0o644) //nolint:gosec // the picture is public
}
