// Package adopting holds the code that docs/adopting.md shows for libraries on database/sql, one
// file for each library. The test next to it runs it. All of them are opened on pgx's driver:
// stdlib.OpenDBFromPool(pool).
package adopting

import "github.com/leat-go/leat/outbox"

// placed returns the event of an order.
func placed(id string) outbox.Message {
	return outbox.Message{Topic: "orders", Key: id, Type: "order.placed", Payload: []byte(`{}`)}
}
