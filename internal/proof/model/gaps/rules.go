package gaps

// rules are the protocol; each field leaves one of them out.
type rules struct {
	forgetful    bool // numbers that are missing are not remembered
	storesLast   bool // the last number is stored without those that are missing
	missingFirst bool // what was missing is read before what is new
	passing      bool // what is new passes what was missing and did not fit into the page
	noFence      bool // what was read is sent before it is on the disk
	fromMemory   bool // what was read before a crash of the server is sent after it
	givesUp      bool // a gap that no transaction is at is given up, without a row
	passesGaps   bool // retention deletes up to the last number of the position
	emptiesLog   bool // retention deletes the newest row, too
	noLife       bool // a page is not compared with the life of the log
	noNumbers    bool // nor with the highest number
	noRows       bool // nor with the row that was read last
	mayBeGone    bool // the row that was read last may be missing

	numberFirst bool // producers draw the number before they have the lock
	noLock      bool // producers of one key do not wait for one another
}

// bounds are what a search tries.
type bounds struct {
	writers       uint8
	limit         int  // of a page
	closes        bool // gaps may be closed
	retains       bool // retention may delete what is settled
	readerCrashes uint8
	serverCrashes uint8
	empties       uint8 // of the log
	setBacks      uint8 // of the counter, behind the rows that are deleted
}

// protocol is what the steps depend on.
type protocol struct {
	rules
	bounds
}

// mostWriters is the greatest number of producers in a search.
const mostWriters = 4

// mates reports whether two writers write to one key: the first two do.
func mates(a, b uint8) bool { return a < 2 && b < 2 }
