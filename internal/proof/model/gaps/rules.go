package gaps

// rules are the protocol; each field leaves one of them out.
type rules struct {
	forgetful    bool // missing numbers are not remembered
	storesLast   bool // the last number is stored without the missing ones
	missingFirst bool // missing numbers are read before new ones
	passing      bool // new numbers pass missing ones that did not fit into the page
	noFence      bool // a page is sent before it is on the disk
	fromMemory   bool // a page read before a crash of the server is sent after it
	givesUp      bool // a gap without an open transaction is passed without writing a row that closes it
	passesGaps   bool // retention deletes up to the last number of the position
	emptiesLog   bool // retention deletes the newest row, too
	noLife       bool // the reader does not check that the log was not emptied
	noNumbers    bool // nor that the highest number has not fallen
	noRows       bool // nor that the row it read last is the same
	mayBeGone    bool // the check of that row passes if the row is missing

	numberFirst bool // producers draw the number before they have the lock
	noLock      bool // producers of one key do not wait for each other
}

// bounds are the bounds of a search.
type bounds struct {
	writers       uint8
	limit         int  // rows of a page
	closes        bool // gaps may be closed
	retains       bool // retention may delete settled rows
	readerCrashes uint8
	serverCrashes uint8
	empties       uint8 // how often the log may be emptied
	setBacks      uint8 // how often the counter may be set back, with the rows above it deleted
}

// protocol is the configuration of the steps.
type protocol struct {
	rules
	bounds
}

// mostWriters is the greatest number of producers in a search.
const mostWriters = 4

// mates reports whether two writers write to one key: the first two do.
func mates(a, b uint8) bool { return a < 2 && b < 2 }
