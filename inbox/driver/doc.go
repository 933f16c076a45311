// Package driver is the interface between package inbox and a store, and between a store and a
// subscriber. Users of an inbox need only package inbox; this one is for authors of stores and
// subscribers.
//
// A store implements Store, and as many of the others as it can:
//
//	Store           claims a message in a transaction, a Unit
//	Classifier      finds errors that are unrelated to the message
//	Attempter       counts attempts: any inbox.Policy but Block
//	Parker          keeps messages for an operator: inbox.Park
//	Keeper          keeps fingerprints and replies
//	BatchStore      claims several messages in one transaction
//	BatchAttempter  counts attempts of batches
//
// An Assigner is an inbox that remembers positions instead of ids. A subscriber that reads
// a log asks it where to begin, and puts a Position into the context of each message.
//
// Errors live where they arise: those of a store and of positions here, those of
// Processor.Process in package inbox. ErrBusy and ErrRollbackOnly are both, so package inbox
// exports them under the same names. Package inboxtest checks a store.
//
// Stability: young, see docs/versions.md.
package driver
