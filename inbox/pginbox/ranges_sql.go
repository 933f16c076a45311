package pginbox

import (
	"github.com/leat-go/leat/internal/pgmigrate"
)

// maintenanceSQL are the rendered statements of maintenance.
type maintenanceSQL struct {
	settings, lease, release, raise   string
	orphans, open                     string
	deleteBelow, sweep, pages, newest string
	guardAdd, guardDrop, guardCheck   string
	switchTo, pruneAudit              string
}

func renderMaintenance(names pgmigrate.Names) (s maintenanceSQL, err error) {
	for into, file := range map[*string]string{
		&s.settings:    "range_settings",
		&s.lease:       "range_lease",
		&s.release:     "range_release",
		&s.raise:       "range_raise",
		&s.orphans:     "range_orphans",
		&s.open:        "range_open",
		&s.deleteBelow: "delete_below",
		&s.sweep:       "sweep",
		&s.pages:       "plain_pages",
		&s.newest:      "plain_newest",
		&s.guardAdd:    "guard_add",
		&s.guardDrop:   "guard_drop",
		&s.guardCheck:  "guard_validate",
		&s.switchTo:    "switch",
		&s.pruneAudit:  "audit_prune",
	} {
		text, err := statementFiles.ReadFile("sql/" + file + ".sql")
		if err != nil {
			return s, err
		}
		if *into, err = names.Render(withoutComments(string(text))); err != nil {
			return s, err
		}
	}
	return s, nil
}
