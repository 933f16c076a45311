// Package drawing turns the texts of docs/drawings into the SVGs beside them.
//
// A text is lines of words. Its first line says what is drawn, a timeline or a sequence,
// and its title. Empty lines, and lines that begin with #, say nothing.
//
// A timeline has transactions, and snapshots that cut through them. In which window a
// message is read is not written down: it follows from the snapshots, as in a relay.
//
//	message NUMBER FROM TO commit|rollback
//	other FROM TEXT
//	snapshot AT
//	note TEXT
//
// A sequence has lanes, and steps from lane to lane. A box stands around the steps up
// to its end.
//
//	lane NAME TITLE
//	NAME -> NAME: TEXT
//	box TEXT
//	end
//	note TEXT
package drawing
