package drawing

import (
	_ "embed"
	"fmt"
	"html"
	"strings"
)

// style has the colours, for a light and for a dark screen.
//
//go:embed style.css
var style string

// canvas collects the elements of an SVG. Numbers are pixels from the upper left corner.
type canvas struct {
	body strings.Builder
}

// rect draws a rectangle.
func (c *canvas) rect(class string, x, y, width, height int) {
	fmt.Fprintf(&c.body, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/>\n", class, x, y, width, height)
}

// line draws a straight line.
func (c *canvas) line(class string, x1, y1, x2, y2 int) {
	fmt.Fprintf(&c.body, "<line class=%q x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n", class, x1, y1, x2, y2)
}

// text writes text whose baseline is at y. The class says on which side of x it stands.
func (c *canvas) text(class string, x, y int, text string) {
	fmt.Fprintf(&c.body, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// arrow draws a level arrow from x1 to x2.
func (c *canvas) arrow(x1, x2, y int) {
	const head = 8
	back := x2 - head
	if x2 < x1 {
		back = x2 + head
	}
	c.line("stroke", x1, y, back, y)
	fmt.Fprintf(&c.body, "<path class=\"head\" d=\"M%d %d L%d %d L%d %d Z\"/>\n", x2, y, back, y-head/2, back, y+head/2)
}

// svg returns the drawing on a page of its own colour, so that it can be read on any.
func (c *canvas) svg(title string, width, height int) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n",
		width, height, width, height)
	fmt.Fprintf(&out, "<title>%s</title>\n<style>\n%s</style>\n", html.EscapeString(title), style)
	fmt.Fprintf(&out, "<rect class=\"page\" x=\"0.5\" y=\"0.5\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width-1, height-1)
	out.WriteString(c.body.String())
	out.WriteString("</svg>\n")
	return []byte(out.String())
}
