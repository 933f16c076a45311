// Package inboxes models the inbox: one message that is delivered again and again,
// to three workers at once, to handlers that fail and processes that crash, over
// connections that are cut with the COMMIT on its way.
//
// A worker counts the attempt, claims, runs the handler, commits and acknowledges; each
// is a step of its own. The transaction lives on the server: when its worker is gone it
// keeps its lock until the server aborts it, or carries out a COMMIT that was sent. A
// message that has failed often enough is parked, by a claim like another. Retention may
// drop the id once, after which the message is too old to be judged.
package inboxes
