package pgoutbox

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// maintenanceStatements are the rendered SQL of maintenance. Where they name {range},
// of makes them those of one table.
type maintenanceStatements struct {
	ranges, rangeNames     string
	owner                  string
	pins, unseen           string
	young, begun, mayClose string
	page                   string
	lags                   string
	chunkLook, chunkDrop   string
	pruneAudit, pruneDead  string
	audit                  string
}

func renderMaintenance(cfg Config) (maintenanceStatements, error) {
	var s maintenanceStatements
	var slots, mayGo string
	err := renderFiles(cfg, []sqlFile{
		{&slots, "slots"},
		{&mayGo, "may_go"},
		{&s.ranges, "ranges"},
		{&s.rangeNames, "range_names"},
		{&s.owner, "log_owner"},
		{&s.pins, "range_pins"},
		{&s.unseen, "range_unseen"},
		{&s.young, "range_young"},
		{&s.begun, "range_begun"},
		{&s.mayClose, "range_may_close"},
		{&s.page, "range_page"},
		{&s.lags, "group_lags"},
		{&s.chunkLook, "chunk_look"},
		{&s.chunkDrop, "chunk_delete"},
		{&s.pruneAudit, "prune_audit"},
		{&s.pruneDead, "prune_dead"},
		{&s.audit, "audit_maintenance"},
	})
	for _, sql := range []*string{&s.pins, &s.lags, &s.chunkLook, &s.chunkDrop} {
		*sql = slots + strings.ReplaceAll(*sql, "{may go}", mayGo)
	}
	return s, err
}

// of returns sql for one table of the log's schema.
func (o *Outbox) of(table, sql string) string {
	return strings.ReplaceAll(sql, "{range}", o.tableName(table))
}

// tableName returns the quoted and qualified name of a table of the log's schema.
func (o *Outbox) tableName(table string) string {
	return pgx.Identifier{o.cfg.Schema, table}.Sanitize()
}
