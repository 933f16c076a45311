// Package history judges what a system of producers, relays and consumers has done,
// by the logs that its processes have kept and by what its databases and topics hold
// in the end. It knows nothing of how the system works, so that it can judge any.
//
// A history is a directory of files of JSON Lines, one for each process and role.
// docs/internals/history-format.md describes them for writers in other languages. [Writer] appends
// to such a file, [Check] reads a directory and returns the [Verdict].
//
// Only the verdict of O10 depends on a clock. No check depends on a constraint of the system under
// test: its table of effects has none, so that an effect that happened twice is there twice. See
// design 18.6.
package history
