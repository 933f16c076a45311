// Package brokertest runs Watermill's suite of pub/subs on the subscribers of brokers behind
// middleware.NewInbox: every message is published twice, and the suite demands that it is
// delivered once.
//
// It is a separate module, because of the brokers' clients that nothing else of leat needs.
package brokertest
