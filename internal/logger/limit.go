package logger

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// window is how long a warning stands for others of the same cause.
	window = time.Minute
	// maxCauses bounds the causes of one message that have their own lines at a time.
	maxCauses = 8
	// maxCauseBytes bounds the remembered text of a cause.
	maxCauseBytes = 256
)

// limited passes on warnings and errors, one for each cause and minute.
//
// The cause of a line is its message, its attributes about the operation, and its error, in which
// all numbers count as one. A line without an error has its topic and its reason instead. The first
// line of a cause is passed on at once. Of those that follow within the minute, the last is passed
// on at its end, with the number of all in "repeated". If a message has more than maxCauses causes
// at a time, the last line of the further ones is passed on with their number in "others". When a
// repeated cause has not occurred for a minute, a line says so.
//
// Lines below warnings are not limited: a logger at that level is meant to get each. Lines that
// name an actor are not limited either: each change by an operator is logged.
type limited struct {
	slog.Handler

	floor  slog.Level // lines below are dropped
	prefix string     // attributes of the logger, which are part of a cause
	causes *causes
}

func limit(h slog.Handler, floor slog.Level) *limited {
	return &limited{Handler: h, floor: floor, causes: &causes{open: map[string]*cause{}, lines: map[string]int{}}}
}

// Enabled implements slog.Handler.
func (l *limited) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= l.floor && l.Handler.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (l *limited) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !l.causes.admit(ctx, l, r) {
		return nil
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l *limited) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	next.Handler = l.Handler.WithAttrs(attrs)
	for _, a := range attrs {
		next.prefix += a.String() + "\x00"
	}
	return &next
}

// WithGroup implements slog.Handler.
func (l *limited) WithGroup(name string) slog.Handler {
	next := *l
	next.Handler = l.Handler.WithGroup(name)
	return &next
}

// causes are the causes of the last minute. They are safe for concurrent use.
type causes struct {
	mu    sync.Mutex
	open  map[string]*cause
	lines map[string]int // of open, by message: the causes with lines of their own
}

// cause is a cause with a line that was passed on.
type cause struct {
	id      string
	message string // with the attributes of its logger
	others  bool   // it stands for all causes of its message that are too many
	first   time.Time
	timer   *time.Timer
	total   int  // lines, the first included
	held    int  // lines of this minute that were not passed on
	told    bool // a repeated line was passed on
	last    slog.Record
	handler slog.Handler
	ctx     context.Context //nolint:containedctx // of the last line, which is passed on later
}

// admit reports whether r should be passed on now: it is the first line of its cause, or does not repeat.
// Other lines are counted.
func (c *causes) admit(ctx context.Context, l *limited, r slog.Record) bool {
	message := l.prefix + r.Message
	why, repeats := causeOf(r)
	if !repeats {
		return true
	}
	id := message + "\x00" + why
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.open[id]
	others := known == nil && c.lines[message] >= maxCauses
	if others {
		id = message
		known = c.open[id]
	}
	if known == nil {
		known = &cause{id: id, message: message, others: others, first: r.Time}
		known.timer = time.AfterFunc(window, func() { c.end(known) })
		c.open[id] = known
		if !others {
			c.lines[message]++
		}
	}
	known.total++
	if known.total == 1 && !others {
		return true
	}
	known.held++
	known.last, known.handler, known.ctx = r.Clone(), l.Handler, context.WithoutCancel(ctx)
	return false
}

// end ends a minute of k.
func (c *causes) end(k *cause) {
	c.mu.Lock()
	if c.open[k.id] != k { // over has ended it
		c.mu.Unlock()
		return
	}
	held, line := k.held, k.last
	if held > 0 {
		k.held, k.told = 0, true
		k.timer.Reset(window)
	} else {
		c.forget(k)
	}
	told, total, handler, ctx := k.told, k.total, k.handler, k.ctx
	c.mu.Unlock()
	switch {
	case held > 0 && k.others:
		line.AddAttrs(slog.Int("others", held))
	case held > 0:
		line.AddAttrs(slog.Int("repeated", held))
	case told:
		over := slog.NewRecord(time.Now(), slog.LevelInfo, "not seen for a minute: "+line.Message, 0)
		over.AddAttrs(slog.Duration("lasted", line.Time.Sub(k.first).Round(time.Second)), slog.Int("lines", total))
		line = over
	default:
		return
	}
	if handler.Enabled(ctx, line.Level) {
		_ = handler.Handle(ctx, line)
	}
}

// over forgets all causes of a message, and logs nothing more about them.
func (c *causes) over(message string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.open {
		if k.message == message {
			k.timer.Stop()
			c.forget(k)
		}
	}
}

func (c *causes) forget(k *cause) {
	delete(c.open, k.id)
	if k.others {
		return
	}
	if c.lines[k.message]--; c.lines[k.message] == 0 {
		delete(c.lines, k.message)
	}
}

// causeOf returns the key that distinguishes the cause of r from others of its message. It returns
// false if each such line is logged.
func causeOf(r slog.Record) (why string, repeats bool) {
	repeats = true
	var operation, err, subject strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "actor":
			repeats = false
		case "operation", "kind", "fate", "hook", "slot":
			operation.WriteString(a.Value.String() + "\x00")
		case "error", "panic":
			err.WriteString(a.Value.String())
		case "topic", "reason":
			subject.WriteString(a.Value.String() + "\x00")
		}
		return true
	})
	if err.Len() > 0 {
		return operation.String() + WithoutNumbers(err.String()), repeats
	}
	return operation.String() + WithoutNumbers(subject.String()), repeats
}

// WithoutNumbers returns the first maxCauseBytes of text with each number replaced by #.
func WithoutNumbers(text string) string {
	short := make([]byte, 0, min(len(text), maxCauseBytes))
	for i := 0; i < len(text) && len(short) < maxCauseBytes; i++ {
		switch b := text[i]; {
		case b < '0' || b > '9':
			short = append(short, b)
		case len(short) == 0 || short[len(short)-1] != '#':
			short = append(short, '#')
		}
	}
	return string(short)
}
