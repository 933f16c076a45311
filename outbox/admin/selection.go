package admin

import (
	"fmt"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Selection selects records that were set aside, in one of three ways: those of Topic
// and Key; those with ID; or those that pass the filter of Topics, Kind, Fingerprint and
// Before. Each part of the filter may be left out.
type Selection struct {
	// Topic and Key select the records of one key.
	Topic, Key string

	// ID selects the records with this id that are set aside, or the dead ones if there are none.
	ID string

	// Topics is a pattern of topics, in which * stands for any run of characters.
	Topics string
	// Kind is the kind of the last error: unknown, outage or permanent, as
	// outbox.FailureKind.String has it.
	Kind string
	// Fingerprint is the fingerprint of the last error, as Outbox.Failures returns it.
	Fingerprint string
	// Before selects records that were set aside before it, by the database's clock.
	Before time.Time

	// Dead selects dead records instead of parked ones.
	// Defaults to false.
	Dead bool

	// Limit bounds the records that one call changes, 1 to 100,000. They are changed in one
	// transaction, during which the relays of the group set nothing aside. Call again until
	// nothing is changed. Defaults to 10,000.
	Limit int
}

// completeSelection fills in the default of s.
func completeSelection(s *Selection) error {
	ways := 0
	for _, way := range []bool{s.Topic != "" || s.Key != "", s.ID != "", s.Filters()} {
		if way {
			ways++
		}
	}
	if ways != 1 {
		return fmt.Errorf("%w: select by topic and key, by id, or by topics, kind, fingerprint and time", ErrInvalidRequest)
	}
	if (s.Topic == "") != (s.Key == "") {
		return fmt.Errorf("%w: Topic = %.200q, Key = %.200q: a key needs both", ErrInvalidRequest, s.Topic, s.Key)
	}
	if s.Kind != "" && !slices.Contains(kinds(), s.Kind) {
		return fmt.Errorf("%w: Kind = %.200q: must be %q, %q or %q", ErrInvalidRequest, s.Kind, outbox.FailureUnknown, outbox.FailureOutage, outbox.FailurePermanent)
	}
	limit, err := limitOr(s.Limit, 10_000, 100_000)
	if err != nil {
		return err
	}
	s.Limit = limit
	return checkTexts(map[string]string{"Topic": s.Topic, "Key": s.Key, "ID": s.ID, "Topics": s.Topics, "Fingerprint": s.Fingerprint})
}

// kinds are the kinds of errors that set a record aside. A record that a sink did not send has not been
// attempted.
func kinds() []string {
	return []string{outbox.FailureUnknown.String(), outbox.FailureOutage.String(), outbox.FailurePermanent.String()}
}

// Filters reports whether s selects by Topics, Kind, Fingerprint or Before.
func (s Selection) Filters() bool {
	return s.Topics != "" || s.Kind != "" || s.Fingerprint != "" || !s.Before.IsZero()
}

// String describes the selection.
func (s Selection) String() string {
	what := "parked"
	if s.Dead {
		what = "dead"
	}
	switch {
	case s.ID != "":
		return fmt.Sprintf("%s record %.200q", what, s.ID)
	case s.Key != "":
		return fmt.Sprintf("%s records of key %.200q of topic %.200q", what, s.Key, s.Topic)
	default:
		return fmt.Sprintf("%s records of topics %.200q, kind %.200q, fingerprint %.200q, before %s", what, s.Topics, s.Kind, s.Fingerprint, s.Before)
	}
}
