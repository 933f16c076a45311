// Package queueschema shows what watermill-sql's queue schema for PostgreSQL loses,
// doubles and reorders, and what becomes of the same messages on leat.
package queueschema

import (
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes/overlap"
)

// Exhibit returns the cases.
func Exhibit() gallery.Exhibit {
	return gallery.Exhibit{
		Name:    "queueschema",
		Subject: "watermill-sql's PostgreSQLQueueSchema: an ack of one row is an ack of the batch",
		Cases: []gallery.Case{
			{
				Name:      "the subscriber is closed in the middle of a batch",
				Incumbent: closedOnQueue(defaultBatch),
				Expect:    gallery.Outcome{Lost: 4},
				Leat:      closedOnLeat,
			},
			{
				Name:      "a handler takes longer than AckDeadline, once",
				Incumbent: slowOnQueue(defaultBatch),
				Expect:    gallery.Outcome{Lost: 4},
				Leat:      slowOnLeat,
			},
			{
				Name:      "a handler writes in the subscriber's transaction and fails, once",
				Incumbent: retriedOnQueue,
				Expect:    gallery.Outcome{Doubled: 1},
				Leat:      retriedOnLeat,
			},
			{
				Name: "two transactions of one key overlap",
				Incumbent: overlap.OnWatermillSQL(overlap.EventFirst, "overlap", sql.PostgreSQLQueueSchema{}, sql.SubscriberConfig{
					OffsetsAdapter: sql.PostgreSQLQueueOffsetsAdapter{}, PollInterval: pollInterval,
				}),
				Expect: gallery.Outcome{Reordered: 1},
				Leat:   overlap.OnLeat(overlap.EventFirst, "overlap"),
			},
		},
	}
}
