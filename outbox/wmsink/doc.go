// Package wmsink delivers records through any Watermill publisher, such as
// watermill-kafka's.
//
//	sink, err := wmsink.New(publisher, wmsink.Config{})
//	r, err := relay.New(source, sink, relay.Config{})
//
// Most publishers wait for one message at a time. So the Sink runs lanes concurrently: all
// records of a topic and key go through the same lane, in order, one message per call of Publish,
// and stop at the first failure.
//
// A publisher cannot be told when to give up: Publish takes no context, and many publishers
// ignore the message's. When the context of Send ends while a call of Publish hangs, Send
// returns, the record counts as failed by an outage, and its lane stays taken until that call has
// returned. The next Send waits for it before it uses the lane, so that a late message cannot
// arrive after one that was sent later. If the late message was still acknowledged, the next Send
// knows.
//
// A record becomes the message that outbox.ToWatermill returns, with the context of Send. With
// Kafka, configure watermill-kafka to partition by metadata outbox.HeaderKey.
//
// Stability: stable, see docs/versions.md.
package wmsink
