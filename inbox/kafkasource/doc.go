// Package kafkasource consumes Kafka topics through franz-go, as a member of a
// consumer group, for Watermill and for handlers of batches.
//
//	orders, err := kafkasource.NewSubscriber(brokers, "loyalty", kafkasource.Config{})
//	router.AddConsumerHandler("points", "orders", orders, handle)
//
// A Subscriber is a message.Subscriber without the limit of one message in flight per partition.
// Messages with different keys are handled concurrently, messages of one key one after the other,
// in the partition's order. The latter also holds for messages without a key, unless
// Config.KeylessConcurrent is set. The offset that is committed to Kafka is the low watermark:
// all messages of the partition below it were acknowledged. So a crash repeats messages, and
// loses none.
//
//	poll ──▶ partition ──▶ lanes by key ──▶ out ──▶ handler ──▶ ack ──▶ low watermark ──▶ commit
//	            ▲ paused while it holds      │  nack: later again; its key waits
//	            └ enough                     ▼
//	                         context: ends with the partition's assignment
//
// The context of a message ends when its partition is no longer this member's:
// when a rebalance has taken it away and the handlers did not end in time, when
// the group has lost the member, and, before the group can notice, when the
// member has not reached the group for so long that it may soon be replaced.
// A handler that writes under its context, as one inside an inbox does, then
// commits nothing.
//
// Everything here is at least once. Together with an inbox a message takes
// effect once.
//
// Stability: stable, see docs/versions.md.
package kafkasource
