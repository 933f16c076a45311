// Package kafkadefaults shows the behavior of watermill-kafka with its default settings, and that of
// leat's publishers, subscribers and inbox with their defaults.
package kafkadefaults

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
)

// Exhibit returns the cases.
func Exhibit() exhibit.Exhibit {
	return exhibit.Exhibit{
		Name:    "kafkadefaults",
		Subject: "watermill-kafka's Publisher and Subscriber with their defaults",
		Cases: []exhibit.Case{
			{
				Name:      "the messages of one key, the first handler is slow",
				Incumbent: keyOnWatermill,
				Expect:    exhibit.Outcome{Reordered: 1},
				Leat:      keyOnLeat,
			},
			{
				Name:      "the broker's answer to a publish is lost",
				Incumbent: ackLostOnWatermill,
				Expect:    exhibit.Outcome{Doubled: 1},
				Leat:      ackLostOnLeat,
			},
			{
				Name:      "the router is closed while a handler is at work",
				Incumbent: closedOnWatermill,
				Expect:    exhibit.Outcome{Doubled: 1},
				Leat:      closedOnLeat,
			},
			{
				Name:      "the group restarts before its first message, three come meanwhile",
				Incumbent: newestOnWatermill,
				Expect:    exhibit.Outcome{Lost: 3},
				Leat:      newestOnLeat,
			},
		},
	}
}
