package report

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a plot.
const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 8 * vg.Centimeter
)

// series is a line of a plot. Its colours can be told apart by everyone.
type series struct {
	name  string
	color color.RGBA
	value func(Sample) float64
}

func throughput() []series {
	return []series{
		{"enqueued", color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, func(s Sample) float64 { return s.Enqueued }},
		{"published", color.RGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}, func(s Sample) float64 { return s.Published }},
		{"applied", color.RGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}, func(s Sample) float64 { return s.Effects }},
	}
}

func lag() []series {
	return []series{
		{"lag", color.RGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}, func(s Sample) float64 { return max(1, s.LagMS) }},
	}
}

// writePlots writes the plots of the run into the folder; none if there are no
// samples.
func writePlots(folder string, r Run) error {
	if len(r.Samples) < 2 {
		return nil
	}
	rates := newPlot("events a second", r)
	if err := addSeries(rates, r.Samples, throughput()); err != nil {
		return err
	}
	rates.Y.Min = 0
	if err := savePlot(rates, filepath.Join(folder, "throughput.svg")); err != nil {
		return err
	}
	ages := newPlot("lag in milliseconds", r)
	if err := addSeries(ages, r.Samples, lag()); err != nil {
		return err
	}
	ages.Y.Min, ages.Y.Max = 1, max(10, ages.Y.Max)
	ages.Y.Scale = plot.LogScale{}
	ages.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	return savePlot(ages, filepath.Join(folder, "lag.svg"))
}

// newPlot returns a plot with the faults in it.
func newPlot(title string, r Run) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "seconds"
	p.X.Min, p.X.Max = 0, max(r.Seconds, r.Samples[len(r.Samples)-1].T)
	p.Legend.Top = true
	p.BackgroundColor = color.White
	if len(r.Marks) > 0 {
		rug := marks{at: r.Marks, style: draw.LineStyle{
			Color: color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0x50}, Width: vg.Points(0.6),
		}}
		p.Add(rug)
		p.Legend.Add("fault", rug)
	}
	return p
}

// addSeries adds the lines to the plot.
func addSeries(p *plot.Plot, samples []Sample, all []series) error {
	for _, s := range all {
		points := make(plotter.XYs, len(samples))
		for i, sample := range samples {
			points[i] = plotter.XY{X: sample.T, Y: s.value(sample)}
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return fmt.Errorf("plot %s: %w", s.name, err)
		}
		line.Color, line.Width = s.color, vg.Points(1)
		p.Add(line)
		p.Legend.Add(s.name, line)
	}
	return nil
}

// marks are faults, drawn as thin lines over the height of the plot.
type marks struct {
	at    []Mark
	style draw.LineStyle
}

var (
	_ plot.Plotter     = marks{}
	_ plot.Thumbnailer = marks{}
)

// Plot draws the marks.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, mark := range m.at {
		at := x(mark.T)
		c.StrokeLine2(m.style, at, c.Min.Y, at, c.Max.Y)
	}
}

// Thumbnail draws a mark for the legend.
func (m marks) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(m.style, middle, c.Min.Y, middle, c.Max.Y)
}

// savePlot writes the plot as SVG.
func savePlot(p *plot.Plot, path string) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.Draw(draw.New(canvas))
	file, err := os.Create(path) //nolint:gosec // below the folder that is asked for
	if err != nil {
		return fmt.Errorf("create plot: %w", err)
	}
	if _, err := canvas.WriteTo(file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write plot %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("close plot %s: %w", path, err)
	}
	return nil
}
