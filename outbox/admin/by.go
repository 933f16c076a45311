package admin

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Complete fills in the defaults of q, a query or a request of this package. The error wraps
// ErrInvalidRequest if q makes no sense. Implementations of Outbox call it first in each method.
func Complete(q interface{ complete() error }) error { return q.complete() }

// By names the person or program that requests a change, and the reason. All of it is stored in the audit,
// and must be valid UTF-8 without NUL.
type By struct {
	// Actor and Reason are required.
	Actor, Reason string
	// Details is further information about the requester, such as the client's address and how it
	// signed in: at most 20 texts of up to 1,000 bytes, by names of 1 to 100 bytes. In an
	// AuditEntry it is the member "by" of Details. Defaults to nothing.
	Details map[string]string
}

// Bounds of By.Details.
const (
	maxDetails     = 20
	maxDetailName  = 100
	maxDetailValue = 1000
)

func (b By) complete() error {
	if strings.TrimSpace(b.Actor) == "" {
		return fmt.Errorf("%w: Actor is empty", ErrInvalidRequest)
	}
	if strings.TrimSpace(b.Reason) == "" {
		return fmt.Errorf("%w: Reason is empty", ErrInvalidRequest)
	}
	if len(b.Details) > maxDetails {
		return fmt.Errorf("%w: Details: %d texts: must be at most %d", ErrInvalidRequest, len(b.Details), maxDetails)
	}
	texts := map[string]string{"Actor": b.Actor, "Reason": b.Reason}
	for name, text := range b.Details {
		if len(name) < 1 || len(name) > maxDetailName {
			return fmt.Errorf("%w: Details: name %.200q: must be 1 to %d bytes", ErrInvalidRequest, name, maxDetailName)
		}
		if len(text) > maxDetailValue {
			return fmt.Errorf("%w: Details[%q]: %d bytes: must be at most %d", ErrInvalidRequest, name, len(text), maxDetailValue)
		}
		texts[fmt.Sprintf("Details[%q]", name)] = name + text
	}
	return checkTexts(texts)
}

// Annotate returns details, a JSON object or nil, with b.Details as its member "by". For
// stores.
func (b By) Annotate(details json.RawMessage) json.RawMessage {
	if len(b.Details) == 0 {
		return details
	}
	all := map[string]json.RawMessage{}
	if len(details) > 0 && json.Unmarshal(details, &all) != nil {
		return details
	}
	by, err := json.Marshal(b.Details)
	if err != nil {
		return details
	}
	all["by"] = by
	annotated, err := json.Marshal(all)
	if err != nil {
		return details
	}
	return annotated
}

func checkTexts(texts map[string]string) error {
	for field, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%w: %s = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, field, text)
		}
	}
	return nil
}

// defaultGroup is the relay group of a request that names none.
const defaultGroup = "default"

// complete checks the texts and returns the group, or the default one.
func complete(group string, texts map[string]string) (string, error) {
	if group == "" {
		return defaultGroup, checkTexts(texts)
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
