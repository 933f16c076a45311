// Package pginbox is an inbox in PostgreSQL: the id of a message is recorded in
// the transaction in which its handler writes, for handlers on pgx and on
// database/sql with pgx's driver.
//
//	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
//	err = in.Migrate(ctx)
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once)
//
// One inbox remembers the messages of one handler. For makes one for each handler
// of a router, by its name; Handle and a handler's own AddMiddleware take the inbox
// itself.
//
// A message costs one small row, and no round trip beyond those of the bare
// transaction on pgx, since BEGIN and the claim travel together; with
// database/sql it costs one. A duplicate costs two round trips and writes
// nothing. Of two deliveries at the same time one is Busy at once: it neither
// waits for the other nor holds a connection.
//
// Package pgwatermark is an inbox that remembers positions in a log instead of ids.
//
// What happens to messages whose handler fails is Config.OnFailure. Parked messages
// are for operators: NewAdmin lists, redrives and drops them; RunRedrive runs what was
// redriven.
//
// The role of a consumer needs USAGE on the schema and
//
//	SELECT, INSERT                  <table>, <table>_consumers, <table>_ranges
//	SELECT                          <table>_retention
//
// With a policy other than Block it needs as well
//
//	SELECT, INSERT, UPDATE, DELETE  <table>_attempts
//	SELECT                          <table>_parked
//
// to park and to redrive
//
//	SELECT, INSERT, UPDATE, DELETE  <table>_parked
//	SELECT, INSERT                  <table>_audit
//
// and for fingerprints and replies
//
//	SELECT, INSERT, UPDATE          <table>_notes
//
// To look, and for a dry run, an operator needs USAGE on the schema and SELECT on
//
//	Parked, Failures, dry runs      <table>_consumers, <table>_parked
//	Audit                           <table>_consumers, <table>_audit
//	Attempts                        <table>, <table>_ranges, <table>_consumers, <table>_attempts
//	Stats                           the same, and <table>_parked
//	Consumers                       the same, and <table>_watermarks
//	Lookup                          all tables except those of the audit and of watermarks
//	Retention                       <table>_retention
//	Partitions                      <table>_consumers, <table>_sources, <table>_watermarks
//
// Nothing is written, and a name that the inbox does not know is admin.ErrUnknownConsumer. To
// change what is parked an operator needs
//
//	SELECT                          <table>_consumers
//	SELECT, UPDATE, DELETE          <table>_parked
//	INSERT                          <table>_audit
//
// To make a range that is missing, a consumer must be a member of the tables' owner, have
// UPDATE on <table>_retention, and may CREATE in the schema; maintenance does it too.
//
// A Maintenance with NoDDL needs
//
//	SELECT                          <table>_consumers
//	SELECT, UPDATE                  <table>_retention
//	SELECT, DELETE                  <table>, <table>_ranges, and <table>_audit with KeepAudit
//	SELECT, UPDATE, DELETE          <table>_attempts, and <table>_notes with KeepNotes
//
// and without NoDDL the tables' owner.
//
// Stability: stable, see docs/versions.md.
package pginbox
