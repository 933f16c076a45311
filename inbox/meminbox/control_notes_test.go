package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
)

// brokenKeepers lose what is kept beside an id.
func brokenKeepers() []negative {
	return []negative{
		{"a mismatch is a duplicate", onStore(func(c claims) driver.Store { return forgetsNotes{c} }), map[string]string{
			"I10_MismatchIsNotAcked": "outcome duplicate",
			"I10_MismatchIsParked":   "outcome duplicate, error none; want parked",
			"I10_ReplyIsReplayed":    `reply "", outcome duplicate, error none; want "hello"`,
		}},
	}
}

// forgetsNotes has no fingerprints to compare.
type forgetsNotes struct{ claims }

func (forgetsNotes) Kept(context.Context, string) (driver.Note, bool, error) {
	return driver.Note{}, false, nil
}
