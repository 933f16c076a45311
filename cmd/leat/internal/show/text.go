package show

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// None is shown for an empty cell.
const None = "–"

// maxCell bounds a cell, in characters.
const maxCell = 80

// Plain returns text that is safe on a terminal: control characters and line breaks are escaped, since
// messages come from outside.
func Plain(text string) string {
	if text == "" {
		return None
	}
	safe := func(r rune) bool { return unicode.IsPrint(r) && r != unicode.ReplacementChar }
	if strings.IndexFunc(text, func(r rune) bool { return !safe(r) }) < 0 {
		return text
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}

// Cell is Plain, cut to the size of a table cell.
func Cell(text string) string {
	runes := []rune(Plain(text))
	if len(runes) <= maxCell {
		return string(runes)
	}
	return string(runes[:maxCell-1]) + "…"
}

// Count returns n with commas.
func Count(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return sign + text
}

// Things returns n and its unit, with an s unless n is one.
func Things(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + one + "s"
}

// Bytes returns n in units of 1024.
func Bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return strconv.FormatInt(n, 10) + " B"
	}
	value, names := float64(n), "KMGTPE"
	at := -1
	for value >= unit && at < len(names)-1 {
		value /= unit
		at++
	}
	return fmt.Sprintf("%.1f %ciB", value, names[at])
}

// Duration returns d in two units at most.
func Duration(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "-" + Duration(max(-d, -(d+1))) // the smallest duration has no opposite
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Truncate(100*time.Millisecond).Seconds(), 'f', -1, 64) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 2*day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	default:
		return fmt.Sprintf("%dd%02dh", d/day, d%day/time.Hour)
	}
}

// Seconds returns d for JSON.
func Seconds(d time.Duration) float64 { return d.Seconds() }
