// Package queueschema shows what watermill-sql's queue schema for PostgreSQL loses,
// doubles and reorders, and what happens to the same messages on leat.
package queueschema

import (
	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/overlap"
)

// Exhibit returns the cases.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "queueschema",
		Subject: "watermill-sql's PostgreSQLQueueSchema: an ack of one row is an ack of the batch",
		Cases: []exhibit.Case{
			{
				Name:      "the subscriber is closed in the middle of a batch",
				Incumbent: closedOnQueue(defaultBatch),
				Expect:    exhibit.Outcome{Lost: 4},
				Leat:      closedOnLeat,
			},
			{
				Name:      "a handler takes longer than AckDeadline, once",
				Incumbent: slowOnQueue(defaultBatch),
				Expect:    exhibit.Outcome{Lost: 4},
				Leat:      slowOnLeat,
			},
			{
				Name:      "a handler writes in the subscriber's transaction and fails, once",
				Incumbent: retriedOnQueue,
				Expect:    exhibit.Outcome{Doubled: 1},
				Leat:      retriedOnLeat,
			},
			{
				Name: "two transactions of one key overlap",
				Incumbent: overlap.OnWatermillSQL(overlap.EventFirst, "overlap", sql.PostgreSQLQueueSchema{}, sql.SubscriberConfig{
					OffsetsAdapter: sql.PostgreSQLQueueOffsetsAdapter{}, PollInterval: pollInterval,
				}),
				Expect: exhibit.Outcome{Reordered: 1},
				Leat:   overlap.OnLeat(overlap.EventFirst, "overlap"),
			},
		},
	}
}
