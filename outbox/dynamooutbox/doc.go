// Package dynamooutbox is an outbox in a table of DynamoDB.
//
//	ob, err := dynamooutbox.New(client, dynamooutbox.Config{Table: "leat_outbox"})
//	err = ob.Setup(ctx, 0) // once, at deployment
//	err = ob.InTx(ctx, func(ctx context.Context, tx *dynamooutbox.Tx) error {
//		if err := tx.Add(types.TransactWriteItem{Put: …}); err != nil { // any table
//			return err
//		}
//		return ob.Enqueue(ctx, tx, outbox.Message{Topic: "orders", Key: id, Payload: payload})
//	})
//
// # How it works
//
// A transaction is one TransactWriteItems: the caller's items, one for each message, and one for
// each key. Relays read the table, consistently, and delete what was acknowledged. The table's
// stream carries no messages, and is only used to wake relays (Outbox.RunBell). AWS guarantees
// its order for an item and not for a transaction, and it keeps records for a day only.
//
// Messages are spread over buckets, whose number is in the table. A process remembers it for a
// minute. If a table was recreated with another number, a producer may use buckets that a relay
// does not poll. So a relay reads all 64 possible buckets when it begins, and once a minute.
//
// A counter for each key assigns its numbers. A transaction moves a counter only from the value
// that it has read. If another transaction was faster, Commit tries again. Each message names
// the number of the message before it, and a relay does not send it before that one: a Query can
// see the later of two transactions and not yet the earlier.
//
// # Limitations
//
// One group of relays reads an outbox: fan out behind the broker. There are no slots, no delayed
// messages, no history and no replay. A transaction has at most 100 items and 4 MB, a message at
// most 350 KiB. Times are those of the processes' clocks.
//
// Nothing is deleted by age. TTL must not be switched on for the table's messages.
//
// Stability: young, see docs/versions.md.
package dynamooutbox
