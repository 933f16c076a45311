package pginbox

import (
	"context"

	"github.com/leat-go/leat/inbox/admin"
)

// Stats implements admin.Inbox. It reads the tables of parked messages and of attempts,
// which are small unless much has failed. It needs SELECT on <table>, <table>_ranges,
// <table>_consumers, <table>_parked and <table>_attempts.
func (a *Admin) Stats(ctx context.Context) (admin.Stats, error) {
	return a.view.Stats(ctx)
}

// Consumers implements admin.Inbox. The ids of a consumer are counted up to 10,000, and
// estimated by the planner beyond that. It needs SELECT on what Stats needs it on, and on
// <table>_watermarks.
func (a *Admin) Consumers(ctx context.Context, q admin.ConsumersQuery) ([]admin.Consumer, error) {
	return a.view.Consumers(ctx, q)
}

// Attempts implements admin.Inbox. It needs SELECT on <table>, <table>_ranges,
// <table>_consumers and <table>_attempts.
func (a *Admin) Attempts(ctx context.Context, q admin.AttemptsQuery) ([]admin.Attempts, error) {
	return a.parking.Attempts(ctx, q)
}

// Parked implements admin.Inbox. It needs SELECT on <table>_consumers and <table>_parked.
func (a *Admin) Parked(ctx context.Context, q admin.ParkedQuery) ([]admin.ParkedMessage, error) {
	return a.parking.Parked(ctx, q)
}

// Failures implements admin.Inbox. It reads all parked messages, payloads aside, and needs
// SELECT on <table>_consumers and <table>_parked.
func (a *Admin) Failures(ctx context.Context, q admin.FailuresQuery) ([]admin.FailureGroup, error) {
	return a.parking.Failures(ctx, q)
}

// Lookup implements admin.Inbox. Whether a process has the message in hand tells
// pg_locks. It needs SELECT on all tables but those of the audit and of watermarks.
func (a *Admin) Lookup(ctx context.Context, q admin.LookupQuery) ([]admin.Sighting, error) {
	return a.view.Lookup(ctx, q)
}

// Audit implements admin.Auditor. It needs SELECT on <table>_consumers and <table>_audit.
func (a *Admin) Audit(ctx context.Context, q admin.AuditQuery) ([]admin.AuditEntry, error) {
	return a.parking.Audit(ctx, q)
}

// Retention implements admin.Retainer. It needs SELECT on <table>_retention.
func (a *Admin) Retention(ctx context.Context) (admin.Retention, error) {
	return a.retention.look(ctx)
}

// Partitions implements admin.Watermarks. It needs SELECT on <table>_consumers,
// <table>_sources and <table>_watermarks.
func (a *Admin) Partitions(ctx context.Context, q admin.PartitionsQuery) ([]admin.PartitionState, error) {
	return a.watermarks.Partitions(ctx, q)
}
