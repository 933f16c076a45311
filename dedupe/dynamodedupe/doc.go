// Package dynamodedupe is a dedupe.Store in DynamoDB, for services that have neither Redis nor a
// SQL database, and their effects elsewhere. It is a module of its own, for the AWS SDK.
//
// A message is one item. A step reads it, consistently, and writes it on the condition that it has not
// changed. That takes two requests, and two more for each concurrent step that came first.
//
// DynamoDB has no clock in its conditions. Leases go by the Date of its answers, which has whole
// seconds and may come from another server each time: a lease that nobody extends or releases is
// taken over up to four seconds late, and never early, whatever the clocks of clients say.
//
// Stability: young, see docs/versions.md.
package dynamodedupe
