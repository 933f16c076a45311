// Package progress shows how far long work is: a bar on terminals, else a line every ten
// seconds.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/show"
)

// Every is the time between two lines where there is no terminal.
const Every = 10 * time.Second

// redraw is the time between two looks of a bar.
const redraw = 100 * time.Millisecond

// cells is the length of a bar.
const cells = 16

// Bar is the progress of one piece of work. It is not safe for concurrent use.
type Bar struct {
	// Out is where it is shown.
	Out io.Writer
	// Terminal is set if Out is one.
	Terminal bool
	// Name is what is done, Unit what is counted.
	Name, Unit string
	// Total is how much there is; 0: nobody knows.
	Total int64
	// Now is the clock.
	Now func() time.Time

	began, shown time.Time
	drawn        bool
}

// Set shows that done is done, if it is time to.
func (b *Bar) Set(done int64) {
	now := b.Now()
	if b.began.IsZero() {
		b.began, b.shown = now, now
	}
	wait := Every
	if b.Terminal {
		wait = redraw
	}
	if now.Sub(b.shown) < wait {
		return
	}
	b.shown = now
	b.show(done, now.Sub(b.began))
}

// End removes the bar; lines stay.
func (b *Bar) End() {
	if b.drawn {
		_, _ = io.WriteString(b.Out, "\r\x1b[K")
	}
}

func (b *Bar) show(done int64, took time.Duration) {
	text := b.text(done, took)
	if b.Terminal {
		b.drawn = true
		text = "\r\x1b[K" + text
	} else {
		text += "\n"
	}
	_, _ = io.WriteString(b.Out, text)
}

func (b *Bar) text(done int64, took time.Duration) string {
	if b.Total <= 0 {
		return fmt.Sprintf("%s: %s %s, %s", b.Name, show.Count(done), b.Unit, show.Duration(took))
	}
	of := fmt.Sprintf("%s/%s %s, %s", show.Count(done), show.Count(b.Total), b.Unit, show.Duration(took))
	if !b.Terminal {
		return b.Name + ": " + of
	}
	full := int(min(done, b.Total) * cells / b.Total)
	return b.Name + " " + strings.Repeat("█", full) + strings.Repeat("░", cells-full) + " " + of
}
