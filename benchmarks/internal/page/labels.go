package page

import (
	"bytes"
	"cmp"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// endLabels writes the names of lines next to their ends, where they do not cover other lines.
type endLabels struct {
	style text.Style
	ends  []lineEnd
}

type lineEnd struct {
	name   string
	at     plotter.XY
	dashes []vg.Length
	color  color.Color
}

func newEndLabels(p *plot.Plot) *endLabels {
	l := &endLabels{style: p.X.Tick.Label}
	l.style.XAlign, l.style.YAlign = draw.XLeft, draw.YCenter
	return l
}

// gap is the space between the end of a line and its name.
const gap = vg.Length(12)

// add adds the name of a line. It stands next to the line's last point.
func (l *endLabels) add(name string, line *plotter.Line) {
	l.ends = append(l.ends, lineEnd{name, line.XYs[len(line.XYs)-1], line.Dashes, line.Color})
}

// Plot implements plot.Plotter. Names that would overlap are moved up.
func (l *endLabels) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	slices.SortFunc(l.ends, func(a, b lineEnd) int { return cmp.Or(cmp.Compare(a.at.Y, b.at.Y), cmp.Compare(a.name, b.name)) })
	high := l.style.Font.Size * 1.15
	places := make([]vg.Length, len(l.ends))
	for i, end := range l.ends {
		places[i] = toY(end.at.Y)
		if i > 0 {
			places[i] = max(places[i], places[i-1]+high)
		}
	}
	for i, limit := len(places)-1, c.Max.Y; i >= 0; i, limit = i-1, places[i]-high {
		places[i] = min(places[i], limit)
	}
	for i, end := range l.ends {
		style := draw.LineStyle{Color: end.color, Width: vg.Points(1), Dashes: end.dashes}
		c.StrokeLine2(style, toX(end.at.X), toY(end.at.Y), c.Max.X+gap-vg.Points(2), places[i])
		c.FillText(l.style, vg.Point{X: c.Max.X + gap, Y: places[i]}, end.name)
	}
}

// GlyphBoxes implements plot.GlyphBoxer. It returns the space that the names need next to the plot.
func (l *endLabels) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	var wide vg.Length
	for _, end := range l.ends {
		wide = max(wide, l.style.Width(end.name)*1.2) // a reader's font may be wider
	}
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: wide + gap}}}}
}

// themed gives a plot the colours of light and of dark pages.
func themed(svg []byte) []byte {
	const style = "<style>:root{--ink:#24292f;--grid:#d0d7de;--first:#0072b2}@media(prefers-color-scheme:dark){:root{--ink:#c9d1d9;--grid:#30363d;--first:#56a8f5}}text{fill:var(--ink)}</style>\n"
	for _, swap := range [][2]string{
		{"#000000", "var(--ink)"},
		{"#808080", "var(--grid)"},
		{"#0072B2", "var(--first)"},
		{"fill:#FFFFFF", "fill:none"},
		{"font-family:Liberation Sans", "font-family:Liberation Sans,Arial,Helvetica,sans-serif"},
	} {
		svg = bytes.ReplaceAll(svg, []byte(swap[0]), []byte(swap[1]))
	}
	return bytes.Replace(svg, []byte("<g "), []byte(style+"<g "), 1)
}
