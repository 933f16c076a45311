package report

import (
	"fmt"
	"image/color"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The size of a plot.
const (
	plotWidth  = 24 * vg.Centimeter
	plotHeight = 8 * vg.Centimeter
	// margin is the space for the legend, at the right.
	margin = 3 * vg.Centimeter
	// headroom is the height of a plot relative to its highest line.
	headroom = 1.05
)

// picture is a plot with a legend next to it.
type picture struct {
	*plot.Plot
	legend plot.Legend
}

// series is a line of a plot. Its colours can be distinguished by colour-blind readers, too.
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

// writePlots writes the plots of the run into the folder. It writes none if there are no samples.
func writePlots(folder string, r Run) error {
	if len(r.Samples) < 2 {
		return nil
	}
	for name, draw := range map[string]func(Run) (*picture, error){
		"throughput.svg": ratesPlot, "lag.svg": lagPlot,
	} {
		p, err := draw(r)
		if err == nil {
			err = savePlot(p, filepath.Join(folder, name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ratesPlot shows events per second.
func ratesPlot(r Run) (*picture, error) {
	p := newPlot("events a second", r)
	err := addSeries(p, r.Samples, throughput())
	p.Y.Min, p.Y.Max = 0, p.Y.Max*headroom
	return p, err
}

// lagPlot shows the lag, from milliseconds to minutes.
func lagPlot(r Run) (*picture, error) {
	p := newPlot("lag in milliseconds", r)
	err := addSeries(p, r.Samples, lag())
	p.Y.Min, p.Y.Max = 1, max(10, p.Y.Max)*headroom
	p.Y.Scale = plot.LogScale{}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	return p, err
}

// newPlot returns a plot that shows the faults.
func newPlot(title string, r Run) *picture {
	p := &picture{Plot: plot.New(), legend: plot.NewLegend()}
	p.Title.Text = title
	p.X.Label.Text = "seconds"
	p.X.Min, p.X.Max = 0, max(r.Seconds, r.Samples[len(r.Samples)-1].T)
	p.BackgroundColor = color.White
	p.legend.Top, p.legend.Left = true, true
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	p.legend.TextStyle.Font.Size = p.X.Tick.Label.Font.Size
	p.legend.Padding = vg.Millimeter
	if len(r.Marks) > 0 {
		var m marks
		m.rare, m.others = rareMarks(r.Marks)
		p.Add(m)
		p.legend.Add("fault", m)
	}
	return p
}

// addSeries adds lines to the plot.
func addSeries(p *picture, samples []Sample, all []series) error {
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
		p.legend.Add(s.name, line)
	}
	return nil
}

// drawOn draws plot and legend.
func (p *picture) drawOn(c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
	p.Draw(draw.Crop(c, 0, -margin, 0, 0))
	p.legend.Draw(draw.Crop(c, c.Size().X-margin+vg.Millimeter, 0, 0, -p.Title.TextStyle.Font.Size*2))
}

// savePlot writes the plot as SVG.
func savePlot(p *picture, path string) error {
	canvas := vgsvg.New(plotWidth, plotHeight)
	p.drawOn(draw.New(canvas))
	file, err := os.Create(path) //nolint:gosec // below the folder that was asked for
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
