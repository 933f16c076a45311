// Package relays models the relay: terms under a lease that take over from one another at any moment,
// bytes of former terms that arrive late, calls whose answers are lost, records that the broker refuses,
// and operators who redrive or skip them.
//
// Three records stand in the log: j1, k1, k2, of the keys j and k. A term reads pages of two, sends what
// is left of a page in one call, and settles what was acknowledged or set aside in one fenced write.
//
// Nothing here depends on clocks. A lease may expire, and another term begin, between any two steps. The
// former term goes on until it is refused. A real relay also fences itself, which only makes repeats
// rarer. Every call may be abandoned. Its bytes are then lost, or still in flight behind those of the next
// call. The channel does what the sink promises: the records of a key arrive in the order of the call, and
// none of them after a refused one.
package relays
