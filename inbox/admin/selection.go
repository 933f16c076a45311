package admin

import (
	"errors"
	"fmt"
	"time"
)

// Selection selects parked messages in one of three ways: by Topic and Key; by ID; or by the
// filter of OfTopic, Fingerprint and Before. Each part of the filter may be left out.
type Selection struct {
	// Topic and Key select the messages of one key. Topic is empty for messages that
	// did not come through a router.
	Topic, Key string

	// ID selects the messages with this id.
	ID string

	// OfTopic selects the messages of a topic.
	OfTopic string
	// Fingerprint selects the messages that wait for an operator for a reason with this
	// fingerprint, as Inbox.Failures returns it.
	Fingerprint string
	// Before selects messages that were parked before it, by the store's clock.
	Before time.Time

	// Limit bounds the parked messages that a filter or an id selects, 1 to 10,000.
	// Defaults to 1,000.
	Limit int
}

// completeSelection fills in the default of s.
func completeSelection(s *Selection) error {
	ways := 0
	for _, way := range []bool{s.Key != "", s.ID != "", s.OfTopic != "" || s.Fingerprint != "" || !s.Before.IsZero()} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return fmt.Errorf("%w: select by topic and key, by id, or by topic, fingerprint and time", ErrInvalidRequest)
	}
	if s.Topic != "" && s.Key == "" {
		return fmt.Errorf("%w: Topic = %.200q, Key = %.200q: a key needs both", ErrInvalidRequest, s.Topic, s.Key)
	}
	limit, err := limitOr(s.Limit, 1000)
	s.Limit = limit
	if s.Key != "" {
		s.Limit = maxLimit // including all that wait
	}
	return errors.Join(err, storableTexts(field{"Topic", s.Topic}, field{"OfTopic", s.OfTopic}, field{"Fingerprint", s.Fingerprint}))
}

// String describes the selection.
func (s Selection) String() string {
	switch {
	case s.ID != "":
		return fmt.Sprintf("message %.200q", s.ID)
	case s.Key != "":
		return fmt.Sprintf("key %.200q of topic %.200q", s.Key, s.Topic)
	default:
		return fmt.Sprintf("messages of topic %.200q, fingerprint %.200q, before %s", s.OfTopic, s.Fingerprint, s.Before)
	}
}
