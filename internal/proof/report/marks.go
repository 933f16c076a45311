package report

import (
	"cmp"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// fewMarks is how many marks may cross a plot without hiding it.
const fewMarks = 40

// rareMarks separates the marks of the rarest faults, such as the restart of a server, from those
// of all others.
func rareMarks(all []Mark) (rare, others []Mark) {
	counts := map[Mark]int{}
	for _, m := range all {
		counts[Mark{Point: m.Point, Kind: m.Kind}]++
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b Mark) int {
		return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a.Point, b.Point), cmp.Compare(a.Kind, b.Kind))
	})
	isRare, sum := map[Mark]bool{}, 0
	for _, name := range names {
		sum += counts[name]
		isRare[name] = sum <= fewMarks
	}
	for _, m := range all {
		if isRare[Mark{Point: m.Point, Kind: m.Kind}] {
			rare = append(rare, m)
		} else {
			others = append(others, m)
		}
	}
	return rare, others
}

// marks draws faults as thin lines. Those of rare faults have the height of the plot. The others are
// short, at the foot of the plot.
type marks struct {
	rare, others []Mark
}

var (
	_ plot.Plotter     = marks{}
	_ plot.Thumbnailer = marks{}
)

// foot is the height of a short mark.
const foot = 8

// style returns the line style of a mark.
func (m marks) style() draw.LineStyle {
	return draw.LineStyle{Color: color.NRGBA{R: 0xd5, G: 0x5e, B: 0x00, A: 0x80}, Width: vg.Points(0.6)}
}

// Plot draws the marks.
func (m marks) Plot(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	for _, mark := range m.others {
		c.StrokeLine2(m.style(), x(mark.T), c.Min.Y, x(mark.T), c.Min.Y+foot)
	}
	for _, mark := range m.rare {
		c.StrokeLine2(m.style(), x(mark.T), c.Min.Y, x(mark.T), c.Max.Y)
	}
}

// Thumbnail draws a mark for the legend.
func (m marks) Thumbnail(c *draw.Canvas) {
	middle := (c.Min.X + c.Max.X) / 2
	c.StrokeLine2(m.style(), middle, c.Min.Y, middle, c.Max.Y)
}
