package open

import (
	"slices"
	"strings"
)

// right is a right that a role needs: a privilege on a schema, a table, a column, the log's
// sequence or a function; or membership in the owner of a table.
type right struct{ kind, name, privilege, column string }

// Uses are the uses of a database role, as listed in docs/security.md.
func Uses() []string {
	return []string{
		"producer", "delaying-producer", "sql-producer", "relay", "maintenance", "maintenance-without-ddl", "audit-pruning", "viewer",
		"consumer", "sql-consumer", "trying-consumer", "parking-consumer", "noting-consumer", "marking-consumer", "position-consumer",
		"inbox-maintenance", "inbox-maintenance-without-ddl", "inbox-audit-pruning", "inbox-viewer", "inbox-floor-lowering",
	}
}

// on are privileges on tables, such as on("SELECT, INSERT", "inbox").
func on(privileges string, tables ...string) (all []right) {
	for _, table := range tables {
		for privilege := range strings.SplitSeq(privileges, ", ") {
			all = append(all, right{kind: "table", name: table, privilege: privilege})
		}
	}
	return all
}

// inserts are the rights to insert the columns that a producer fills.
func inserts(table string, more ...string) (all []right) {
	columns := append([]string{"id", "shard", "id_text", "topic", "key", "type", "payload", "headers", "occurred_at"}, more...)
	for _, column := range columns {
		all = append(all, right{"column", table, "INSERT", column})
	}
	return all
}

// executes are the rights to execute functions.
func executes(functions ...string) (all []right) {
	for _, f := range functions {
		all = append(all, right{kind: "function", name: f, privilege: "EXECUTE"})
	}
	return all
}

// locks are the rights to lock keys or messages. All roles have them, unless they were revoked from PUBLIC.
func locks() []right {
	return executes("pg_advisory_xact_lock(bigint)", "pg_advisory_xact_lock_shared(bigint)",
		"pg_try_advisory_xact_lock(bigint)", "pg_try_advisory_xact_lock_shared(bigint)")
}

// owns is the right to own a table, or to be a member of its owner, and to create its partitions.
// Partitions are given to the owner, who must have the right to create them as well.
func owns(table string) []right {
	return []right{{kind: "owner", name: table}, {kind: "schema", privilege: "CREATE"}, {kind: "owner's schema", name: table}}
}

const (
	times     = "timestamp with time zone, timestamp with time zone"
	readWrite = "SELECT, INSERT, UPDATE, DELETE"
)

// needs are the rights of a use.
func (p *Postgres) needs(use string) []right {
	usage := []right{{kind: "schema", name: p.target.Schema, privilege: "USAGE"}}
	if all := p.outboxNeeds(use); all != nil {
		return append(usage, all...)
	}
	return append(usage, p.inboxNeeds(use)...)
}

func (p *Postgres) outboxNeeds(use string) []right {
	t := p.target.Outbox
	relay := slices.Concat(
		on("SELECT", t, t+"_meta", t+"_migrations"), []right{{kind: "sequence", name: t, privilege: "SELECT"}},
		on(readWrite, t+"_leases", t+"_positions", t+"_groups", t+"_members", t+"_held", t+"_out", t+"_dead"), on("INSERT", t+"_audit"), locks(),
		executes("pg_try_advisory_lock(bigint)", "pg_advisory_unlock(bigint)"), // otherwise the lease of a dead process counts
	)
	maintenance := slices.Concat(relay, on("INSERT", t), on("SELECT, UPDATE, DELETE", t+"_delayed"))
	switch use {
	case "producer":
		return slices.Concat(inserts(t), on("SELECT", t+"_meta"), locks())
	case "delaying-producer":
		return slices.Concat(inserts(t), inserts(t+"_delayed", "not_before"), on("SELECT", t+"_meta"), locks())
	case "sql-producer":
		return executes(
			t+"_enqueue(jsonb)",
			t+"_enqueue("+strings.Repeat("text, ", 5)+"jsonb, "+times+")", t+"_enqueue(text, bytea, "+strings.Repeat("text, ", 3)+"jsonb, "+times+")",
		)
	case "relay":
		return relay
	case "maintenance":
		return append(maintenance, owns(t)...)
	case "maintenance-without-ddl":
		return append(maintenance, on("DELETE", t)...)
	case "audit-pruning": // in addition to maintenance, with keep_audit
		return on("SELECT, DELETE", t+"_audit")
	case "viewer":
		return append(on(
			"SELECT", t, t+"_meta", t+"_migrations", t+"_leases", t+"_positions", t+"_groups", t+"_members", t+"_held", t+"_out", t+"_dead", t+"_delayed", t+"_audit", t+"_status",
		), right{kind: "sequence", name: t, privilege: "SELECT"})
	default:
		return nil
	}
}

func (p *Postgres) inboxNeeds(use string) []right {
	t := p.target.Inbox
	claims := slices.Concat(on("SELECT, INSERT", t, t+"_consumers", t+"_ranges"), on("SELECT", t+"_retention"), []right{{"column", t + "_consumers", "UPDATE", "ids"}}, locks())
	consumer := slices.Concat(claims, on("SELECT", t+"_parked"))
	viewer := on("SELECT", t+"_consumers", t+"_attempts", t+"_parked", t+"_notes", t+"_audit", t+"_sources", t+"_watermarks", t+"_marks", t+"_retention", t, t+"_ranges")
	maintenance := slices.Concat(on("SELECT", t+"_consumers"), on("SELECT, UPDATE", t+"_retention"), on("SELECT, DELETE", t, t+"_ranges"), on("SELECT, UPDATE, DELETE", t+"_attempts"), locks())
	switch use {
	case "consumer":
		return consumer
	case "sql-consumer":
		return executes(t+"_register(text)", t+"_claim(text, text)")
	case "trying-consumer":
		return slices.Concat(consumer, on(readWrite, t+"_attempts"))
	case "parking-consumer":
		return slices.Concat(claims, on(readWrite, t+"_attempts", t+"_parked"), on("SELECT, INSERT", t+"_audit"))
	case "noting-consumer":
		return slices.Concat(consumer, on("SELECT, INSERT, UPDATE", t+"_notes"))
	case "marking-consumer":
		return slices.Concat(consumer, on("SELECT, INSERT, UPDATE", t+"_marks"))
	case "position-consumer":
		return slices.Concat(on("SELECT, INSERT", t+"_consumers"), on("SELECT", t, t+"_ranges"), on(readWrite, t+"_sources", t+"_watermarks"), locks())
	case "inbox-maintenance":
		return append(maintenance, owns(t+"_ranges")...)
	case "inbox-maintenance-without-ddl":
		return maintenance
	case "inbox-audit-pruning":
		return on("SELECT, DELETE", t+"_audit")
	case "inbox-viewer":
		return viewer
	case "inbox-floor-lowering": // and owns, if ranges below the floor still exist
		return slices.Concat(viewer, on("UPDATE", t+"_retention"), on("INSERT", t+"_audit"))
	default:
		return nil
	}
}
