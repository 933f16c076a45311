// Package brokertest runs Watermill's test suite for pub/subs on the subscribers of brokers behind
// middleware.NewInbox: every message is published twice, and the suite demands that it is delivered once.
//
// It is a separate module, since leat needs the clients of these brokers nowhere else.
package brokertest
