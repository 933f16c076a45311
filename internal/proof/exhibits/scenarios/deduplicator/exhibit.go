// Package deduplicator shows how Watermill's middleware.Deduplicator and leat's middleware.NewDedupe
// handle a redelivery.
package deduplicator

import (
	"context"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

// Exhibit returns the cases. Each has one message.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "deduplicator",
		Subject: "Watermill's middleware.Deduplicator: the key is marked before the handler runs",
		Cases: []exhibit.Case{
			{
				Name:      "the handler fails, the message comes again",
				Incumbent: onDeduplicator(inMemory, fails),
				Expect:    exhibit.Outcome{Lost: 1},
				Leat:      onDedupe("fails", fails),
			},
			{
				Name:      "the process restarts, the message comes again",
				Incumbent: onDeduplicator(inMemory, restarts),
				Expect:    exhibit.Outcome{Doubled: 1},
				Leat:      onDedupe("restarts", restarts),
			},
			{
				Name:      "two deliveries at once, the first fails",
				Incumbent: onDeduplicator(shared, overlaps),
				Expect:    exhibit.Outcome{Lost: 1},
				Leat:      onDedupe("overlaps", overlaps),
			},
			{
				Name:      "the process dies in the handler, another one goes on",
				Incumbent: onDeduplicator(shared, dies),
				Expect:    exhibit.Outcome{Lost: 1},
				Leat:      onDedupe("dies", dies),
			},
		},
	}
}

// scenario plays a case with processes that use the middleware of suppressor, and adds the effects to log.
type scenario func(ctx context.Context, bed *testbed.Testbed, suppressor suppressor, log *testbed.Log) error

// play plays a scenario with one message and judges it.
func play(ctx context.Context, bed *testbed.Testbed, sc scenario, suppressor suppressor) (exhibit.Outcome, error) {
	var log testbed.Log
	fail.If(sc(ctx, bed, suppressor, &log))
	return exhibit.Judge([]exhibit.Event{{ID: messageID}}, log.IDs()), nil
}
