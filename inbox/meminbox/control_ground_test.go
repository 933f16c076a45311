package meminbox

import (
	"context"

	"github.com/leat-go/leat/internal/basis"
)

// brokenGround are the ways of believing what was lost.
func brokenGround() []negative {
	return []negative{
		{"what was lost is remembered", func(c *control) {
			c.moves = map[string]func(context.Context) error{basis.ErrOtherHistory.Name: func(context.Context) error { return nil }}
		}, map[string]string{"I9_MovedHistoryUnderASession": "outcome duplicate"}},
		{"a fact is not declared to the suite", func(c *control) {
			c.moves = map[string]func(context.Context) error{}
		}, map[string]string{"I9_MovedHistoryUnderASession": "does not say what changes History"}},
	}
}
