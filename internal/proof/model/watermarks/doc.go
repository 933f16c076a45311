// Package watermarks models the inbox that remembers its position in a partition. Two sessions both
// believe that they own it, and each works on two messages at once. Handlers fail, COMMITs are in flight,
// processes crash, offsets have a gap, a topic is deleted and created again, and a failover loses commits
// while sessions go on.
//
// A session may continue after its partition was reassigned. The contract of sessions, one message of a
// partition at a time, is not assumed here: the claim must hold without it.
package watermarks
