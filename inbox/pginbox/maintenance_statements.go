package pginbox

import (
	"github.com/leat-go/leat/inbox/internal/pgpark"
	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// maintenanceStatements are the rendered statements of maintenance.
type maintenanceStatements struct {
	settings, lease, release, raise   string
	orphans, open, published          string
	deleteBelow, sweep, pages, newest string
	guardAdd, guardDrop, guardCheck   string
	switchTo                          string
	prune                             map[string]string
}

func renderMaintenance(names pgmigrate.Names) (s maintenanceStatements, err error) {
	err = sqlfile.Load(statementFiles, names.Render, map[string]*string{
		"range_settings": &s.settings, "range_lease": &s.lease, "range_release": &s.release, "range_raise": &s.raise,
		"range_orphans": &s.orphans, "range_open": &s.open, "published": &s.published,
		"delete_below": &s.deleteBelow, "sweep": &s.sweep, "plain_pages": &s.pages, "plain_newest": &s.newest,
		"guard_add": &s.guardAdd, "guard_drop": &s.guardDrop, "guard_validate": &s.guardCheck,
		"switch": &s.switchTo,
	})
	if err == nil {
		s.prune, err = pgpark.Prunes(names)
	}
	return s, err
}
