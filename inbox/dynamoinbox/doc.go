// Package dynamoinbox is an inbox on DynamoDB: a handler's writes, the messages that it
// enqueues, and the record of the message's id are one TransactWriteItems. It is a module of
// its own, for the AWS SDK.
//
// A transaction of DynamoDB is one request, and nothing is locked before it. So copies of a
// message run at the same time; one of them commits, and the others are told as they commit that
// they are duplicates: everything that a handler does has to be in its transaction (Tx). A
// message that was processed before is recognised by a consistent read, and not run.
//
// Attempts are not counted and nothing is parked: a message whose handler fails comes again,
// which is inbox.Block. Batches, replies and fingerprints are not there either.
//
// Stability: young, see docs/versions.md.
package dynamoinbox
