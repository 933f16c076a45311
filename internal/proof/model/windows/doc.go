// Package windows models the cursor of snapshot windows: producers that draw their transaction ids, key
// locks and numbers in any order and commit or abort in any order, and one reader that opens windows,
// reads them in pages, and crashes, alone or with the server.
//
// The server is the part of PostgreSQL that the cursor depends on. A snapshot consists of the number after
// the highest completed xid, and the lower xids that are in progress. A number is drawn at once and is
// never returned. A producer's commit waits for the disk, and with it all that was written before; the
// reader's commits do not wait. After a crash the server is in the state of the disk, and gives out higher
// xids and numbers again.
//
// The steps of producers, crashes and the disk are outside: promise O11 says that the reader alone can
// deliver every committed row, whatever other transactions are open. Package relays models who may read,
// and package slots how the number of slots changes.
package windows
