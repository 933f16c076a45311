// Package windows models the cursor of snapshot windows: producers that draw their
// transaction ids, key locks and numbers in any order and commit or abort in any
// order, and one reader that opens windows, reads them in pages, and crashes, alone
// or with the server.
//
// The server is that part of PostgreSQL on which the cursor rests. A snapshot is one
// past the highest completed xid and the xids below it that are under way. A number
// is drawn at once and for good. A producer's commit waits for the disk, and with it
// all that was written before; the reader's commits do not wait. After a crash the
// server is where the disk was, and gives xids and numbers above that out again.
//
// The steps of producers, crashes and the disk are outside: that the reader alone can
// deliver whatever is committed, whoever else is under way, is the promise O11. Who
// may read is the matter of package relays, and how the number of slots changes that
// of package slots.
package windows
