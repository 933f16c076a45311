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
// stream carries nothing: it may ring a bell (Outbox.RunBell). AWS promises its order for an item,
// and not for a transaction; and it forgets after a day.
//
// Messages are spread over buckets, whose number is in the table. A process remembers it for a minute. In a table
// that was made again with another number a producer may use buckets that a relay does not poll: so
// a relay looks at all 64 that there can be when it begins, and once a minute.
//
// A counter for each key gives out its numbers. It is moved by the transaction that has read it,
// and by no other; whoever comes second tries again, which Commit does. Each message names the
// number before its own, and a relay does not send it before that one: a Query can see the later
// of two transactions and not yet the earlier.
//
// # What is not there
//
// One group of relays reads an outbox: fan out behind the broker. There are no slots, no delayed
// messages, no history and no replay. A transaction has at most 100 items and 4 MB, a message at
// most 350 KiB. Times are those of the processes' clocks.
//
// Nothing is deleted by age. TTL must not be switched on for the table's messages.
//
// Stability: young, see docs/versions.md.
package dynamooutbox
