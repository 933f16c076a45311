package admin

import (
	"regexp"
	"time"

	"github.com/leat-go/leat/internal/storable"
)

// FailuresQuery selects the failures of parked or dead records to summarise. The zero value
// selects the parked records of the default group.
type FailuresQuery struct {
	// Group is the relay group that has set them aside.
	// Defaults to "default".
	Group string
	// Topic is a pattern of topics, in which * stands for any run of characters.
	// Defaults to all topics.
	Topic string
	// Dead selects dead records instead of parked ones. Defaults to false.
	Dead bool
	// Limit bounds the entries that are returned, 1 to 10,000.
	// Defaults to 100.
	Limit int
}

func (q *FailuresQuery) complete() error {
	var err error
	if q.Limit, err = limitOr(q.Limit, 100, 10_000); err != nil {
		return err
	}
	q.Group, err = complete(q.Group, map[string]string{"Topic": q.Topic})
	return err
}

// FailureGroup is one way in which records of a topic have failed.
type FailureGroup struct {
	Topic string
	// Kind is the kind of their last error, as outbox.FailureKind.String has it; empty
	// for records that were parked without one.
	Kind string
	// Fingerprint is the common form of their last errors, or of the reasons if there were none.
	// Selection.Fingerprint selects by it.
	Fingerprint string
	// Example is the text of one of them.
	Example string
	// Records is the number of records, First and Last are when the first and the last
	// of them were set aside, by the database's clock.
	Records     int
	First, Last time.Time
	// Again is how many of them were redriven and have failed again. It is 0 for dead records,
	// where it is not known.
	Again int
}

// maxFingerprint bounds a fingerprint, in characters.
const maxFingerprint = 200

var wordWithDigit = regexp.MustCompile(`[A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*`)

// Fingerprint returns the form that is common to error texts that differ only in numbers, ids and
// addresses: the text with # for each word that has a digit, at most 200 characters.
func Fingerprint(text string) string {
	runes := []rune(storable.Text(wordWithDigit.ReplaceAllString(text, "#")))
	return string(runes[:min(len(runes), maxFingerprint)])
}
