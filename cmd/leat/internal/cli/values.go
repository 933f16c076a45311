package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Span is a duration of a flag: Go's, with d for days.
type Span time.Duration

// UnmarshalText reads 90s, 12h, 7d.
func (s *Span) UnmarshalText(text []byte) error {
	d, err := parseSpan(string(text))
	if err == nil && d < 0 {
		err = fmt.Errorf("%q: must not be negative", text)
	}
	*s = Span(d)
	return err
}

func parseSpan(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n < 100_000 {
			return time.Duration(n) * day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q: must be a duration such as 30s, 12h or 7d", text)
	}
	return d, nil
}

// Moment is a time of a flag: RFC 3339, a day, now, or a duration ago.
type Moment struct {
	time.Time

	// relative is set if it was given by its distance from now.
	relative bool
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
		m.Time, m.relative = time.Now(), true
		return nil
	}
	if d, err := parseSpan(string(text)); err == nil && d >= 0 {
		m.Time, m.relative = time.Now().Add(-d), true
		return nil
	}
	return fmt.Errorf("%q: must be a time such as 2026-01-05T10:00:00Z, a day, now, or a duration ago such as 90m", text)
}

// Size is a number of bytes of a flag, with B, KiB, MiB, GiB or TiB.
type Size int64

// UnmarshalText reads 4096, 64MiB.
func (s *Size) UnmarshalText(text []byte) error {
	number := strings.TrimRight(string(text), "BKMGTi")
	units := []string{"", "B", "KiB", "MiB", "GiB", "TiB"}
	for i, name := range units {
		if string(text[len(number):]) == name {
			unit := int64(1) << (10 * max(i-1, 0))
			n, err := strconv.ParseInt(number, 10, 64)
			if err == nil && n >= 0 && n <= (1<<62)/unit {
				*s = Size(n * unit)
				return nil
			}
		}
	}
	return fmt.Errorf("%q: must be a size such as 4096, 64MiB or 20GiB", text)
}
