package admin

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// By is who asks for a change, and why. Both are required, are stored in the audit, and
// must be valid UTF-8 without NUL.
type By struct {
	Actor, Reason string
}

// Check returns an error that wraps ErrInvalidRequest if actor or reason is missing or
// cannot be stored.
func (b By) Check() error {
	if strings.TrimSpace(b.Actor) == "" {
		return fmt.Errorf("%w: Actor is empty", ErrInvalidRequest)
	}
	if strings.TrimSpace(b.Reason) == "" {
		return fmt.Errorf("%w: Reason is empty", ErrInvalidRequest)
	}
	return checkTexts(map[string]string{"Actor": b.Actor, "Reason": b.Reason})
}

func checkTexts(texts map[string]string) error {
	for field, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %s = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, field, text)
		}
	}
	return nil
}

// DefaultGroup is the relay group of a request that names none.
const DefaultGroup = "default"

// complete checks the texts and returns the group, or the default one.
func complete(group string, texts map[string]string) (string, error) {
	if group == "" {
		return DefaultGroup, checkTexts(texts)
	}
	texts["Group"] = group
	return group, checkTexts(texts)
}

// limitOr returns limit, or its default.
func limitOr(limit, byDefault, most int) (int, error) {
	if limit == 0 {
		return byDefault, nil
	}
	if limit < 1 || limit > most {
		return 0, fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, limit, most)
	}
	return limit, nil
}
