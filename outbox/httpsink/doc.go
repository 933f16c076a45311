// Package httpsink delivers records as webhooks: one POST a record, signed as the
// specification Standard Webhooks (standardwebhooks.com) has it.
//
//	endpoints := httpsink.Static{"customer-7": {URL: url, Secrets: []string{secret}}} // topics and their endpoints
//	sink, err := httpsink.New(endpoints, httpsink.Config{})
//	r, err := relay.New(source, sink, relay.Config{})
//
// The topic of a record is the name of an endpoint. Where that is, and by which secrets
// its requests are signed, is looked up in Endpoints, and never taken from a record. The
// payload is the body, byte for byte. The record's id is the header webhook-id, the same
// in each repeat, so that a receiver recognises repeats; package inbox/webhook is one.
//
// A 2xx is success. All else is a failure of the record or an outage of its endpoint
// (DefaultClassify): the relay then tries one record of it now and then, and the records
// of other endpoints go on. A wait that the endpoint asks for by Retry-After is kept.
// An endpoint that answers 410 gets nothing more.
//
// The records of a topic and key are sent one at a time, in order, and stop at the first
// failure. Those of different keys, and those without a key, are sent side by side.
//
// URLs of webhooks are often chosen by strangers. So addresses of private, local and
// reserved networks are refused when a connection is made, after names were resolved;
// redirects are not followed; messages set no header that a receiver acts on; and the
// proxy of the environment is not used.
//
// Stability: young, see docs/versions.md.
package httpsink
