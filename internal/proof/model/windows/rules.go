package windows

// rules are the protocol; each field leaves one of them out.
type rules struct {
	idCursor    bool // reads rows above the last number read, in any snapshot
	byXid       bool // reads the rows of a window in the order of their xids
	xminHorizon bool // reads rows below every open transaction, in the order of their xids
	lateFloor   bool // a window begins at the number stored with the previous one, not two before
	innerFloor  bool // the sequence is read after the window's xid was drawn
	noGap       bool // the probe checks only the sequence and xip
	noXip       bool // the target lists no xid as in progress, as on a standby
	fullPage    bool // a full page ends a phase
	noPhaseB    bool // rows below the floor are not searched
	noMark      bool // a new group begins without the empty transaction
	fromMemory  bool // after a crash of the server the reader goes on from memory
	noBack      bool // a window is opened without a check for rows that the floors forbid
	noUnseen    bool // the probe takes a sequence that is at the same number for one that has not moved

	seqFirst bool // producers draw the number before the xid
	noLock   bool // producers of one key do not wait for each other
}

// bounds are the bounds of a search.
type bounds struct {
	writers       uint8 // number of producers; the first two share a key
	two           bool  // the last of them writes two rows
	limit         int   // rows of a page
	pagewise      bool  // others act between the pages of a window
	readerCrashes uint8
	serverCrashes uint8
	begins        bool // the reader's group is new, and begins with rows that commit from now on
	raises        bool // the floor may be raised before a window is opened
	setBacks      uint8
}

// protocol is the configuration of the steps.
type protocol struct {
	rules
	bounds
}

// mates reports whether two writers write to one key.
func mates(a, b uint8) bool { return a == b || a < 2 && b < 2 }

// rowsOf returns how many rows writer i writes.
func (p *protocol) rowsOf(i uint8) int {
	if p.two && i == p.writers-1 {
		return 2
	}
	return 1
}
