package drawing

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Where a sequence's parts stand, in pixels.
const (
	laneTop    = 50
	laneHeight = 30
	laneWidth  = 140 // of its title
	laneGap    = 165 // from lane to lane
	stepHeight = 34
	boxAbove   = 16 // before a box
	boxTitle   = 14 // from its upper edge to its title
	boxBelow   = 14 // from its last step to its lower edge
	boxAside   = 34 // from its lanes to its edges
)

// sequence is a drawing of steps from lane to lane, downwards.
type sequence struct {
	title  string
	names  []string
	lanes  []string // their titles
	steps  []step
	boxes  []box
	notes  []note
	y      int  // of what was read last
	inside bool // a box is open
}

type step struct {
	from, to int // lanes
	text     string
	y        int
}

// box stands around steps, from its first lane to its last.
type box struct {
	text        string
	first, last int
	top, bottom int
}

type note struct {
	text string
	y    int
}

var (
	errBox  = errors.New("a box is open already, or has no step, or is not open")
	errStep = errors.New("a step is written NAME -> NAME: TEXT")
	errLane = errors.New("there is no such lane")
)

func newSequence(title string) *sequence {
	return &sequence{title: title, y: laneTop + laneHeight}
}

// read takes one line.
func (s *sequence) read(l line) error {
	switch l.word {
	case "lane":
		name, title, _ := strings.Cut(l.rest, " ")
		s.names, s.lanes = append(s.names, name), append(s.lanes, strings.TrimSpace(title))
	case "box":
		if s.inside {
			return errBox
		}
		s.y += boxAbove
		s.boxes = append(s.boxes, box{text: l.rest, first: len(s.lanes), last: -1, top: s.y})
		s.y += boxTitle
		s.inside = true
	case "end":
		return s.readEnd()
	case "note":
		s.y += stepHeight
		s.notes = append(s.notes, note{text: l.rest, y: s.y})
	default:
		return s.readStep(l)
	}
	return nil
}

func (s *sequence) readEnd() error {
	if !s.inside || s.boxes[len(s.boxes)-1].last < 0 {
		return errBox
	}
	s.y += boxBelow
	s.boxes[len(s.boxes)-1].bottom = s.y
	s.inside = false
	return nil
}

func (s *sequence) readStep(l line) error {
	rest, arrow := strings.CutPrefix(l.rest, "-> ")
	name, text, said := strings.Cut(rest, ": ")
	if !arrow || !said {
		return errStep
	}
	from, to := slices.Index(s.names, l.word), slices.Index(s.names, name)
	if from < 0 || to < 0 || from == to {
		return fmt.Errorf("%w: %s -> %s", errLane, l.word, name)
	}
	s.y += stepHeight
	s.steps = append(s.steps, step{from: from, to: to, text: text, y: s.y})
	if s.inside {
		b := &s.boxes[len(s.boxes)-1]
		b.first, b.last = min(b.first, from, to), max(b.last, from, to)
	}
	return nil
}
