// Package pginbox is an inbox in PostgreSQL: the id of a message is recorded in
// the transaction in which its handler writes, for handlers on pgx and on
// database/sql with pgx's driver.
//
//	in, err := pginbox.New(pool, "loyalty", pginbox.Config{})
//	err = in.Migrate(ctx)
//	once, err := middleware.NewInbox(middleware.InboxConfig{For: in.For, Outbox: ob})
//	router.AddMiddleware(once)
//
// One inbox remembers the messages of one handler. For returns an inbox for each handler of a
// router, by its name. With Handle, and with a handler's own AddMiddleware, use the inbox itself.
//
// A message costs one small row. On pgx it costs no round trip beyond those of the bare
// transaction, since BEGIN and the claim are sent together; with database/sql it costs one. A
// duplicate costs two round trips and writes nothing. If two deliveries run at the same time, one
// is Busy at once: it neither waits for the other nor holds a connection.
//
// Package pgwatermark is an inbox that remembers positions in a log instead of ids.
//
// Config.OnFailure decides what happens to messages whose handler fails. Parked messages wait for
// operators: NewAdmin lists, redrives and drops them; RunRedrive runs the redriven ones.
//
// The role of a consumer needs USAGE on the schema and
//
//	SELECT, INSERT                  <table>, <table>_consumers, <table>_ranges
//	SELECT                          <table>_retention
//
// With a policy other than Block it also needs
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
// To read, and for a dry run, an operator needs USAGE on the schema and SELECT on
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
// These calls write nothing, and an unknown consumer is admin.ErrUnknownConsumer. To change
// parked messages an operator needs
//
//	SELECT                          <table>_consumers
//	SELECT, UPDATE, DELETE          <table>_parked
//	INSERT                          <table>_audit
//
// To create a missing range, a consumer must be a member of the tables' owner, and needs UPDATE
// on <table>_retention and CREATE on the schema; maintenance creates ranges, too.
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
