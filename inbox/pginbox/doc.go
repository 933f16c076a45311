// Package pginbox is an inbox in PostgreSQL: the id of a message is recorded in
// the transaction in which its handler writes, for handlers on pgx and on
// database/sql with pgx's driver.
//
//	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
//	err = in.Migrate(ctx)
//	router.AddMiddleware(middleware.Inbox{Processor: in, Outbox: ob}.Middleware)
//
// A message costs one small row, and no round trip beyond those of the bare
// transaction on pgx, since BEGIN and the claim travel together; with
// database/sql it costs one. A duplicate costs two round trips and writes
// nothing. Of two deliveries at the same time one is Busy at once: it neither
// waits for the other nor holds a connection.
//
// NewWatermark is an inbox that remembers positions in a log instead of ids: one
// row a partition, whatever the number of messages. It recognises that a record is
// delivered again; a message that its producer has sent twice it does not.
//
// What becomes of messages whose handler fails is Config.OnFailure. Parked messages
// are for people: Parked, Redrive, SkipHead, Drop and Audit; RunRedrive runs what was
// redriven.
//
// The role of a consumer needs USAGE on the schema and SELECT and INSERT on the
// tables <table> and <table>_consumers. With a policy other than Block it needs
// SELECT, INSERT, UPDATE and DELETE on <table>_attempts as well; to park and to
// redrive, the same on <table>_parked, and SELECT and INSERT on <table>_audit; for
// fingerprints and replies SELECT, INSERT and UPDATE on <table>_notes. NewWatermark
// needs SELECT, INSERT, UPDATE and DELETE on <table>_sources and <table>_watermarks
// instead of the table itself, of which it needs SELECT; an inbox of ids that may
// read <table>_sources refuses a consumer that has positions.
package pginbox
