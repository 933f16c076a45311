// Package progress shows the progress of long work: as a bar on terminals, otherwise as a line every ten
// seconds.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Every is the time between two lines without a terminal.
const Every = 10 * time.Second

// redraw is the time between two updates of a bar.
const redraw = 100 * time.Millisecond

// cells is the width of a bar.
const cells = 16

// settled is how long work must have lasted before its speed is shown.
const settled = time.Second

// Bar is the progress of one piece of work, with its speed and the time left. It is not safe for concurrent
// use.
type Bar struct {
	// Out is the stream that it is written to.
	Out io.Writer
	// Terminal is set if Out is a terminal.
	Terminal bool
	// Name is the name of the work, Unit the unit that is counted.
	Name, Unit string
	// Total is the amount of work; 0: not known.
	Total int64
	// Now is the clock.
	Now func() time.Time

	began, shown time.Time
	first        int64 // done when it began
	drawn        bool
	turns        int
}

// Set shows that done units are done, if the next update is due.
func (b *Bar) Set(done int64) {
	now := b.Now()
	if b.began.IsZero() {
		b.began, b.shown, b.first = now, now, done
	}
	if now.Sub(b.shown) < b.wait() {
		return
	}
	b.shown = now
	b.show(b.text(done, now.Sub(b.began)))
}

// Spin runs work whose progress is not known, and shows how long it has taken.
func (b *Bar) Spin(work func() error) error {
	began, done := b.Now(), make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		ticker := time.NewTicker(b.wait())
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.show(b.turn(b.Now().Sub(began)))
			}
		}
	})
	err := work()
	close(done)
	showing.Wait()
	b.End()
	return err
}

// wait is the time between two updates.
func (b *Bar) wait() time.Duration {
	if b.Terminal {
		return redraw
	}
	return Every
}

// End removes the bar; lines stay.
func (b *Bar) End() {
	if b.drawn {
		_, _ = io.WriteString(b.Out, "\r\x1b[K")
	}
}

func (b *Bar) show(text string) {
	if b.Terminal {
		b.drawn = true
		text = "\r\x1b[K" + text
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(b.Out, text)
}

// turn returns the line that Spin shows.
func (b *Bar) turn(took time.Duration) string {
	if !b.Terminal {
		return b.Name + ": " + show.Duration(took)
	}
	wheel := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	b.turns++
	return fmt.Sprintf("%s %c %s", b.Name, wheel[b.turns%len(wheel)], show.Duration(took))
}

func (b *Bar) text(done int64, took time.Duration) string {
	if b.Total <= 0 {
		return fmt.Sprintf("%s: %s %s, %s%s", b.Name, show.Count(done), b.Unit, show.Duration(took), b.speed(done, took))
	}
	of := fmt.Sprintf("%s/%s %s, %s%s", show.Count(done), show.Count(b.Total), b.Unit, show.Duration(took), b.speed(done, took))
	if !b.Terminal {
		return b.Name + ": " + of
	}
	full := int(min(done, b.Total) * cells / b.Total)
	return b.Name + " " + strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " " + of
}

// speed returns the units done per second, and how long the rest takes at that speed.
func (b *Bar) speed(done int64, took time.Duration) string {
	if took < settled || done <= b.first {
		return ""
	}
	rate := float64(done-b.first) / took.Seconds()
	text := fmt.Sprintf(", %.1f/s", rate)
	if rate >= 10 {
		text = ", " + show.Count(int64(rate)) + "/s"
	}
	if left := b.Total - done; left > 0 {
		rest := time.Duration(float64(left) / rate * float64(time.Second))
		text += ", " + show.Duration(max(rest, time.Second).Round(time.Second)) + " left"
	}
	return text
}
