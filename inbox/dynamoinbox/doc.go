// Package dynamoinbox is an inbox on DynamoDB: a handler's writes, the messages that it
// enqueues, and the record of the message's id are one TransactWriteItems. It is a module of
// its own, for the AWS SDK.
//
// A transaction of DynamoDB is one request, and nothing is locked before it. So copies of a
// message can run at the same time. One of them commits, and the commits of the others find that
// they are duplicates. So everything that a handler does must be in its transaction (Tx). A
// message that was processed before is recognised by a consistent read, and not run.
//
// Attempts are not counted and nothing is parked: a message whose handler fails is redelivered,
// as with inbox.Block. Batches, replies and fingerprints are not supported either.
//
// Stability: young, see docs/versions.md.
package dynamoinbox
