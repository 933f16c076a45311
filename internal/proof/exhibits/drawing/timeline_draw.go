package drawing

import "strconv"

// Where a timeline's parts stand, in pixels.
const (
	timelineTop   = 74 // of the first transaction
	timelineLeft  = 110
	timelineUnit  = 44 // of time
	timelineRow   = 30
	timelineBar   = 18
	timelineRight = 190 // for what becomes of the messages
	noteHeight    = 20
	pageMargin    = 20
)

// x is where a time stands.
func x(at float64) int {
	return timelineLeft + int(at*timelineUnit)
}

// end is the last time of the drawing.
func (t *timeline) end() float64 {
	last := 0.0
	for _, s := range t.spans {
		last = max(last, s.to)
	}
	for _, at := range t.snapshots {
		last = max(last, at)
	}
	return last + 0.5
}

// draw returns the SVG.
func (t *timeline) draw() []byte {
	var c canvas
	bottom := timelineTop + len(t.spans)*timelineRow
	c.text("title", pageMargin, 30, t.title)
	t.drawSnapshots(&c, bottom)
	for i, s := range t.spans {
		t.drawSpan(&c, s, timelineTop+i*timelineRow)
	}
	y := bottom + 48
	for _, note := range t.notes {
		c.text("quiet", pageMargin, y, note)
		y += noteHeight
	}
	return c.svg(t.title, x(t.end())+timelineRight, y)
}

// drawSnapshots draws the cuts, and below each pair what lies between them.
func (t *timeline) drawSnapshots(c *canvas, bottom int) {
	from := x(0)
	for i, at := range t.snapshots {
		number := strconv.Itoa(i + 1)
		c.line("cut", x(at), timelineTop-14, x(at), bottom+8)
		c.text("bold middle", x(at), timelineTop-20, "snapshot "+number)
		c.text("bold middle", (from+x(at))/2, bottom+22, "window "+number+": "+t.contents(i))
		from = x(at)
	}
}

// drawSpan draws a transaction, and writes beside it what becomes of its message.
func (t *timeline) drawSpan(c *canvas, s span, y int) {
	const baseline = 14
	end, class, becomes := s.to, "none", "rolled back: in no window"
	switch window := t.window(s); {
	case s.open:
		end, becomes = t.end(), "stays open"
	case window >= 0:
		class, becomes = "window"+strconv.Itoa(window%3), "window "+strconv.Itoa(window+1)
	case s.committed:
		becomes = "not read yet"
	}
	c.rect(class, x(s.from), y, x(end)-x(s.from), timelineBar)
	if s.number == "" {
		c.text("", x(s.from)+8, y+baseline, s.label)
	} else {
		c.text("right", timelineLeft-4, y+baseline, s.label)
	}
	c.text("quiet", x(t.end())+10, y+baseline, becomes)
}
