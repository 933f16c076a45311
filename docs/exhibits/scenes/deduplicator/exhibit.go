// Package deduplicator shows what Watermill's middleware.Deduplicator makes of a
// redelivery, and what leat's middleware.Dedupe makes of it.
package deduplicator

import (
	"context"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
)

// Exhibit returns the cases. Each has one message.
func Exhibit() gallery.Exhibit {
	return gallery.Exhibit{
		Name:    "deduplicator",
		Subject: "Watermill's middleware.Deduplicator: the key is marked before the handler runs",
		Cases: []gallery.Case{
			{
				Name:      "the handler fails, the message comes again",
				Incumbent: onDeduplicator(inMemory, fails),
				Expect:    gallery.Outcome{Lost: 1},
				Leat:      onDedupe("fails", fails),
			},
			{
				Name:      "the process restarts, the message comes again",
				Incumbent: onDeduplicator(inMemory, restarts),
				Expect:    gallery.Outcome{Doubled: 1},
				Leat:      onDedupe("restarts", restarts),
			},
			{
				Name:      "two deliveries at once, the first fails",
				Incumbent: onDeduplicator(shared, overlaps),
				Expect:    gallery.Outcome{Lost: 1},
				Leat:      onDedupe("overlaps", overlaps),
			},
			{
				Name:      "the process dies in the handler, another one goes on",
				Incumbent: onDeduplicator(shared, dies),
				Expect:    gallery.Outcome{Lost: 1},
				Leat:      onDedupe("dies", dies),
			},
		},
	}
}

// scenario plays a case with the processes that cast makes, and adds what takes
// effect to log.
type scenario func(ctx context.Context, s *stage.Stage, cast cast, log *stage.Log) error

// play plays a scenario with one message and judges it.
func play(ctx context.Context, s *stage.Stage, scene scenario, c cast) (gallery.Outcome, error) {
	var log stage.Log
	if err := scene(ctx, s, c, &log); err != nil {
		return gallery.Outcome{}, err
	}
	return gallery.Judge([]gallery.Event{{ID: messageID}}, log.IDs()), nil
}
