// Package watermarks models the inbox that remembers how far it has come in a
// partition: two sessions that both believe to have it, each with two messages in
// work at once, handlers that fail, COMMITs that are on their way, crashes, offsets with
// a gap between them, a topic that is deleted and made again, and a failover that loses
// commits while sessions go on.
//
// Nothing keeps a session from going on after its partition was given away. Its
// contract, one message of a partition at a time, is not relied upon here: the claim
// must hold without.
package watermarks
