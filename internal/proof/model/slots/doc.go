// Package slots models the change of a group's number of slots: the chain of windows that its slots share,
// the marker that ends the old layout, slots that reach it one after the other, and the switch to the new
// layout. Meanwhile rows are committed, relays crash and are taken over, and former relays go on sending.
//
// A snapshot is modelled as the number of rows that it sees; package windows models that a window holds
// exactly the rows between two snapshots. There are up to three rows, j1, j2 and k1. A single slot has
// both keys. Of two slots each has one key, and j is the key that moves. A lease's owner is one
// incarnation of a reader, which corresponds to owner and epoch in a real lease.
package slots
