package drawing

// laneX is where a lane stands.
func laneX(lane int) int {
	return pageMargin + laneWidth/2 + lane*laneGap
}

// draw returns the SVG.
func (s *sequence) draw() []byte {
	var c canvas
	c.text("title", pageMargin, 30, s.title)
	for _, b := range s.boxes {
		left := laneX(b.first) - boxAside
		c.rect("box", left, b.top, laneX(b.last)+boxAside-left, b.bottom-b.top)
		c.text("bold", left+8, b.top+boxTitle+2, b.text)
	}
	bottom := s.y + pageMargin
	for i, title := range s.lanes {
		c.line("rail", laneX(i), laneTop+laneHeight, laneX(i), bottom)
		c.rect("lane", laneX(i)-laneWidth/2, laneTop, laneWidth, laneHeight)
		c.text("bold middle", laneX(i), laneTop+20, title)
	}
	for _, step := range s.steps {
		from, to := laneX(step.from), laneX(step.to)
		c.arrow(from, to, step.y)
		c.text("middle", (from+to)/2, step.y-6, step.text)
	}
	width := laneX(len(s.lanes)-1) + laneWidth/2 + pageMargin
	for _, n := range s.notes {
		c.text("quiet middle", width/2, n.y-4, n.text)
	}
	return c.svg(s.title, width, bottom+pageMargin)
}
