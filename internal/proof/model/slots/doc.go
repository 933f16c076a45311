// Package slots models the change of the number of slots of a group: the chain of windows that its
// slots share, the marker that ends the old layout, slots that reach it one after the other, and
// the switch to the new layout, while rows are committed, relays crash and are taken over, and
// former relays go on sending.
//
// A snapshot is the number of rows that it sees; package windows models that a window holds exactly
// the rows between two snapshots. There are up to three rows, j1, j2, k1. One slot has both keys;
// of two, each has one, and j moves. Owners are incarnations, which identify readers as owner and
// epoch do.
package slots
