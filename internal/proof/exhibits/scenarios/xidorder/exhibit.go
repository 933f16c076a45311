// Package xidorder shows in which order watermill-sql's default schema for
// PostgreSQL delivers the events of transactions that overlap, and in which order
// leat does.
package xidorder

import (
	"time"

	"github.com/ThreeDotsLabs/watermill-sql/v4/pkg/sql"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/overlap"
)

// Exhibit returns the cases. Each has two transactions that write the same row.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "xidorder",
		Subject: "watermill-sql's DefaultPostgreSQLSchema: ORDER BY transaction_id, offset",
		Cases: []exhibit.Case{
			{
				Name:      "row locked, then event; the transaction that began first commits last",
				Incumbent: overlap.OnWatermillSQL(overlap.AuditFirst, "xid_audit", sql.DefaultPostgreSQLSchema{}, subscriber()),
				Expect:    exhibit.Outcome{Reordered: 1},
				Leat:      overlap.OnLeat(overlap.AuditFirst, "xid_audit"),
			},
			{
				Name:      "event, then row; the transaction that began first commits last",
				Incumbent: overlap.OnWatermillSQL(overlap.EventFirst, "xid_event", sql.DefaultPostgreSQLSchema{}, subscriber()),
				Expect:    exhibit.Outcome{Reordered: 1},
				Leat:      overlap.OnLeat(overlap.EventFirst, "xid_event"),
			},
		},
	}
}

// subscriber returns the default configuration, except for the interval, which is shorter so that the
// audience does not wait.
func subscriber() sql.SubscriberConfig {
	return sql.SubscriberConfig{
		OffsetsAdapter: sql.DefaultPostgreSQLOffsetsAdapter{},
		PollInterval:   20 * time.Millisecond,
	}
}
