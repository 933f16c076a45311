// Package pgwatermark is an inbox in PostgreSQL that remembers positions in a log instead of ids:
// one row per partition, whatever the number of messages.
//
//	in, err := pgwatermark.New(pool, "loyalty", []string{"orders"}, pgwatermark.Config{})
//	err = in.Migrate(ctx)
//
// It recognises a record of the log that is delivered again, to any session and after any crash.
// It does not recognise a message that its producer has sent twice, since that has two positions;
// package pginbox does.
//
// The role of a consumer needs USAGE on the schema and
//
//	SELECT, INSERT                  <table>_consumers
//	SELECT, INSERT, UPDATE, DELETE  <table>_sources, <table>_watermarks
//	SELECT                          <table>, <table>_ranges
//
// and for Skip INSERT on <table>_audit. An inbox of ids that may read <table>_sources refuses
// a consumer that has positions.
//
// NewAdmin is for operators. To read (Partitions), and for a dry run, it needs SELECT on
// <table>_consumers, <table>_sources and <table>_watermarks. For changes it also needs INSERT,
// UPDATE and DELETE on the latter two, and INSERT on <table>_audit. For an unknown consumer it
// returns admin.ErrUnknownConsumer.
//
// Stability: young, see docs/versions.md.
package pgwatermark
