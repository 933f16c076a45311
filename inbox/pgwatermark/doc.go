// Package pgwatermark is an inbox in PostgreSQL that remembers positions in a log instead of
// ids: one row a partition, whatever the number of messages.
//
//	in, err := pgwatermark.New(pool, "loyalty", []string{"orders"}, pgwatermark.Config{})
//	err = in.Migrate(ctx)
//
// It recognises that a record of the log is delivered again, to whatever session
// and after whatever crash. It does not recognise a message that its producer has
// sent twice, since that has two positions: package pginbox does.
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
// NewAdmin is for operators. To look (Partitions), and for a dry run, it needs SELECT on
// <table>_consumers, <table>_sources and <table>_watermarks; to change anything INSERT,
// UPDATE and DELETE on the latter two as well, and INSERT on <table>_audit. A name that the
// inbox does not know is admin.ErrUnknownConsumer.
//
// Stability: young, see docs/versions.md.
package pgwatermark
