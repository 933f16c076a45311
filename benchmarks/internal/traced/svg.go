package traced

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Sizes of a drawing, in pixels. rows is the maximum number of messages.
const (
	width, left, row, head, rows = 960, 70, 7, 70, 100
)

// colors returns the colors of the stages.
func colors() [Stages]string {
	return [Stages]string{"#8d6e63", "#bdbdbd", "#5c8fd6", "#2a5db0", "#e0a030", "#3f9b5c"}
}

// Draw writes an SVG with a bar for each message, from when it was due. The slowest is at the top.
func Draw(w io.Writer, title string, messages []Message) error {
	messages = messages[:min(len(messages), rows)]
	longest := time.Millisecond
	for _, m := range messages {
		longest = max(longest, m.Total())
	}
	x := func(d time.Duration) float64 { return left + float64(d)/float64(longest)*(width-left-40) }
	height := head + row*len(messages) + 30
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/><text x="%d" y="22" font-size="15">%s</text>`+"\n", width, height, left, title)
	for s, color := range colors() {
		at := left + 110*s
		fmt.Fprintf(&b, `<rect x="%d" y="38" width="12" height="12" fill="%s"/><text x="%d" y="48">%s</text>`+"\n", at, color, at+18, Stage(s))
	}
	for tick := range 6 {
		at := longest * time.Duration(tick) / 5
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#dddddd"/><text x="%.1f" y="%d" text-anchor="middle">%.1f ms</text>`+"\n",
			x(at), x(at), head-8, height-24, x(at), height-8, float64(at)/float64(time.Millisecond))
	}
	for i, m := range messages {
		var from time.Duration
		for s, color := range colors() {
			took := m.Took(Stage(s))
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>`, x(from), head+row*i, x(took)-left, row-1, color)
			from += took
		}
		b.WriteString("\n")
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
