// Package skiplocked shows the relays that articles about the outbox pattern describe, and leat's relay in
// the same scenarios.
package skiplocked

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
)

// Exhibit returns the cases.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "skiplocked",
		Subject: "relays as articles write them: FOR UPDATE SKIP LOCKED, and WHERE id > last",
		Cases: []exhibit.Case{
			{
				Name:      "SKIP LOCKED: two relays, one of them slow",
				Incumbent: twoRelaysAsWritten,
				Expect:    exhibit.Outcome{Reordered: keys},
				Leat:      twoRelaysOfLeat,
			},
			{
				Name:      "SKIP LOCKED: one relay, one message fails once",
				Incumbent: failureAsWritten,
				Expect:    exhibit.Outcome{Reordered: 1},
				Leat:      failureOnLeat,
			},
			{
				Name:      "WHERE id > last: a transaction commits late",
				Incumbent: lateAsWritten,
				Expect:    exhibit.Outcome{Lost: 1},
				Leat:      lateOnLeat,
			},
		},
	}
}
