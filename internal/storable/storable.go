// Package storable makes texts of others, such as the errors of a broker, fit to be
// stored, logged and shown.
package storable

import (
	"strings"
	"unicode/utf8"
)

// replacement stands for what cannot be stored.
const replacement = string(utf8.RuneError)

// Text returns s as any database can store it: valid UTF-8 without NUL. What is neither
// becomes U+FFFD.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, replacement), "\x00", replacement)
}

// AtMost returns the beginning of Text(s), limit bytes at most, and no part of a
// character.
func AtMost(s string, limit int) string {
	s = Text(s)
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
