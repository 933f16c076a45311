// Package serializable shows that the subscriber of watermill-sql's default schema for MySQL and producers
// wait for each other, because the subscriber reads under SERIALIZABLE. leat's relay and producers do not
// wait for each other.
package serializable

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
)

// Exhibit returns the cases. They run on MariaDB.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "serializable",
		Subject: "watermill-sql's DefaultMySQLSchema, whose subscriber reads under SERIALIZABLE, on MariaDB",
		Cases: []exhibit.Case{
			{
				Name:      "another producer's transaction is open",
				Incumbent: openOnWatermillSQL,
				Expect:    exhibit.Outcome{Late: messages},
				Leat:      openOnLeat,
			},
			{
				Name:      "a producer commits while a message is handled",
				Incumbent: handledOnWatermillSQL,
				Expect:    exhibit.Outcome{Late: 1},
				Leat:      handledOnLeat,
			},
		},
	}
}

// messages is the number of messages that are committed in addition to the open transaction.
const messages = 3
