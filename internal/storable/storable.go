// Package storable makes foreign texts, such as the errors of a broker, fit to be stored, logged
// and shown.
package storable

import (
	"strings"
	"unicode/utf8"
)

// replacement stands for what cannot be stored.
const replacement = string(utf8.RuneError)

// Text returns s as any database can store it: valid UTF-8 without NUL. Other bytes become U+FFFD.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// AtMost returns the beginning of Text(s), limit bytes at most, without splitting a character. Text
// far beyond the limit costs nothing.
func AtMost(s string, limit int) string {
	for n := limit + utf8.UTFMax; n < len(s); n *= 2 {
		// A character that is cut at n ends the text, and counts as a replacement.
		if head := Text(s[:n]); len(head) >= limit+len(replacement) {
			return cut(head, limit)
		}
	}
	return cut(Text(s), limit)
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
