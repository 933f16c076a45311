package pgoutbox

import (
	"strings"

	"github.com/jackc/pgx/v5"
)

// maintenanceStatements are the rendered SQL of maintenance. Those that contain {range} are
// completed by of for one table.
type maintenanceStatements struct {
	ranges, rangeNames     string
	published              string
	owner                  string
	pins, unseen           string
	young, begun, mayClose string
	page                   string
	lags                   string
	chunkLook, chunkDrop   string
	pruneAudit, pruneDead  string
	audit                  string
}

func loadMaintenance(cfg Config) (maintenanceStatements, error) {
	var s maintenanceStatements
	var slots, mayGo string
	err := cfg.load(map[string]*string{
		"slots":             &slots,
		"may_go":            &mayGo,
		"ranges":            &s.ranges,
		"range_names":       &s.rangeNames,
		"published":         &s.published,
		"log_owner":         &s.owner,
		"range_pins":        &s.pins,
		"range_unseen":      &s.unseen,
		"range_young":       &s.young,
		"range_begun":       &s.begun,
		"range_may_close":   &s.mayClose,
		"range_page":        &s.page,
		"group_lags":        &s.lags,
		"chunk_look":        &s.chunkLook,
		"chunk_delete":      &s.chunkDrop,
		"prune_audit":       &s.pruneAudit,
		"prune_dead":        &s.pruneDead,
		"audit_maintenance": &s.audit,
	})
	for _, sql := range []*string{&s.pins, &s.lags, &s.chunkLook, &s.chunkDrop} {
		*sql = slots + "\n" + strings.ReplaceAll(*sql, "{may go}", mayGo)
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
