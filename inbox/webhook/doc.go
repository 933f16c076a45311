// Package webhook receives webhooks from any sender. Each takes effect once.
//
// New makes an http.Handler. It verifies a request by a Scheme (Standard, GitHub, Stripe, or your
// own), and runs a function in the transaction in which an inbox records the event's id. The
// request is answered with 200 after the commit and not before, so a sender that gets no answer
// sends it again, and a repeat is answered with 200 without effect. Enqueue is such a function:
// it puts the event into an outbox, in the same transaction, for handlers elsewhere.
//
// The inbox remembers ids under its consumer's name. Use one inbox for each sender: ids of two
// senders may be the same.
//
// Stability: young, see docs/versions.md.
package webhook
