// Package httpsink delivers records as webhooks: one POST per record, signed according to the
// Standard Webhooks specification (standardwebhooks.com).
//
//	endpoints := httpsink.Static{"customer-7": {URL: url, Secrets: []string{secret}}} // topics and their endpoints
//	sink, err := httpsink.New(endpoints, httpsink.Config{})
//	r, err := relay.New(source, sink, relay.Config{})
//
// The topic of a record is the name of an endpoint. Its URL and the secrets that sign its
// requests are looked up in Endpoints, and never taken from a record. The payload is the body,
// byte for byte. The record's id is the header webhook-id, the same in each repeat, so that a
// receiver, such as package inbox/webhook, recognises repeats.
//
// A 2xx is success. Everything else is a failure of the record or an outage of its endpoint
// (DefaultClassify). During an outage the relay tries one record of the endpoint now and then,
// and the records of other endpoints go on. The Sink obeys Retry-After. An endpoint that answers
// 410 gets nothing more.
//
// The records of a topic and key are sent one at a time, in order, and stop at the first failure.
// Those of different keys, and those without a key, are sent concurrently.
//
// URLs of webhooks are often chosen by third parties. So addresses of private, local and reserved
// networks are refused when a connection is made, after names were resolved; redirects are not
// followed; messages cannot set headers that control how a receiver handles the request; and the
// proxy of the environment is not used.
//
// Stability: young, see docs/versions.md.
package httpsink
