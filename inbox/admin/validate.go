package admin

import (
	"fmt"

	"github.com/leat-go/leat/internal/storable"
)

// Validate returns ErrInvalidRequest unless messages are selected in one way.
func (s Selection) Validate() error {
	ways := 0
	for _, way := range []bool{s.Key != "", s.ID != "", s.OfTopic != "" || !s.Before.IsZero()} {
		if way {
			ways++
		}
	}
	switch {
	case ways != 1:
		return fmt.Errorf("%w: select by Topic and Key, by ID, or by OfTopic and Before", ErrInvalidRequest)
	case s.Topic != "" && s.Key == "":
		return fmt.Errorf("%w: Topic = %.200q, Key = %.200q: a key needs both", ErrInvalidRequest, s.Topic, s.Key)
	case s.Limit < 1 || s.Limit > MaxLimit:
		return fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, s.Limit, MaxLimit)
	case !fits(s.Topic), !fits(s.OfTopic):
		return fmt.Errorf("%w: Topic = %.200q, OfTopic = %.200q: must be valid UTF-8 without NUL", ErrInvalidRequest, s.Topic, s.OfTopic)
	}
	return nil
}

// fits reports whether a database takes text as it is.
func fits(text string) bool {
	return storable.Text(text) == text
}

// String names what is selected.
func (s Selection) String() string {
	switch {
	case s.ID != "":
		return fmt.Sprintf("message %.200q", s.ID)
	case s.Key != "":
		return fmt.Sprintf("key %.200q of topic %.200q", s.Key, s.Topic)
	default:
		return fmt.Sprintf("messages of topic %.200q, before %s", s.OfTopic, s.Before)
	}
}

// LimitOr returns the default of a limit that is not set.
func LimitOr(limit int) (int, error) {
	if limit == 0 {
		return 100, nil
	}
	if limit < 1 || limit > MaxLimit {
		return 0, fmt.Errorf("%w: Limit = %d: must be 1 to %d", ErrInvalidRequest, limit, MaxLimit)
	}
	return limit, nil
}
