package memoutbox

import (
	"context"

	"github.com/leat-go/leat/internal/basis"
)

// brokenGround are the ways of standing on ground that has moved.
func brokenGround() []negative {
	goesOn := "want leat: "
	return []negative{
		{"nothing is compared", comparesNothing, map[string]string{
			"O2_MovedClusterBetweenTerms":  goesOn,
			"O2_MovedDatabaseBetweenTerms": goesOn,
			"O2_MovedLogBetweenTerms":      goesOn,
			"O2_MovedLogUnderATerm":        goesOn,
			"O2_MovedNumbersBetweenTerms":  goesOn,
			"O2_MovedNumbersUnderATerm":    goesOn,
			"O2_MovedRowsBetweenTerms":     goesOn,
			"O2_MovedRowsUnderATerm":       goesOn,
		}},
		{"a fact is not declared to the suite", func(c *control) {
			c.ground = func() (string, map[string]func(context.Context) error) { return string(basis.PostgreSQL), nil }
		}, map[string]string{
			"O2_MovedLogUnderATerm": "does not say what changes Log",
		}},
	}
}

// comparesNothing has every fact of a store, and does not notice that they change.
func comparesNothing(c *control) {
	moves := map[string]func(context.Context) error{}
	for _, f := range basis.Facts() {
		moves[f.Name] = func(context.Context) error { return nil }
	}
	c.ground = func() (string, map[string]func(context.Context) error) { return string(basis.PostgreSQL), moves }
}
