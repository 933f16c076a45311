// Package brokertest runs Watermill's suite of pub/subs on the subscribers of brokers behind
// middleware.NewInbox: every message is published twice, and the suite demands that it is
// delivered once.
//
// It is a module of its own, for the clients of brokers that nothing else of leat needs.
package brokertest
