package command

import (
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

// Span is a duration of a flag: Go's, with d for days.
type Span time.Duration

// UnmarshalText reads 90s, 12h, 7d.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := settings.ParseSpan(string(text))
	if err == nil && d < 0 {
		err = fmt.Errorf("%q: must not be negative", text)
	}
	*s = Span(d)
	return err
}

// Every is a duration of a flag whose value is optional.
type Every Span

// everyAlone is the value of the flag without a value.
const everyAlone = Every(2 * time.Second)

// IsBool implements kong.BoolMapperValue.
func (*Every) IsBool() bool { return true }

// Decode implements kong.MapperValue: --watch, --watch=5s, --watch 5s.
func (e *Every) Decode(ctx *kong.DecodeContext) error {
	*e = everyAlone
	token := ctx.Scan.Peek()
	text, ok := token.Value.(string)
	if !ok {
		return nil
	}
	var span Span
	wrong := span.UnmarshalText([]byte(text))
	if wrong == nil || token.Type == kong.FlagValueToken { // otherwise it is the next word
		ctx.Scan.Pop()
		*e = Every(span)
		return wrong
	}
	return nil
}

// Moment is a time of a flag: RFC 3339, a day, now, or a duration ago.
type Moment struct {
	time.Time

	// Relative is set if it was given as a duration before now.
	Relative bool
}

// UnmarshalText reads 2026-01-05T10:00:00Z, 2026-01-05, now, 90m.
func (m *Moment) UnmarshalText(text []byte) error {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, string(text)); err == nil {
			m.Time = t
			return nil
		}
	}
	if string(text) == "now" {
		m.Time, m.Relative = time.Now(), true
		return nil
	}
	if d, err := settings.ParseSpan(string(text)); err == nil && d >= 0 {
		m.Time, m.Relative = time.Now().Add(-d), true
		return nil
	}
	return fmt.Errorf("%q: must be a time such as 2026-01-05T10:00:00Z, a day, now, or a duration ago such as 90m", text)
}

// Size is a number of bytes of a flag, with B, KiB, MiB, GiB or TiB.
type Size int64

// UnmarshalText reads 4096, 64MiB.
func (s *Size) UnmarshalText(text []byte) error {
	n, err := settings.ParseSize(string(text))
	*s = Size(n)
	return err
}
