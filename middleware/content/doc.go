// Package content encodes what messages carry: event types with versions, sealed payloads,
// large payloads kept beside the outbox, and CloudEvents.
package content
