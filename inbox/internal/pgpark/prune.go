package pgpark

import (
	"time"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// LeastAudit is how long the audit is kept in any case, so that today's changes can still be
// looked up tomorrow.
const LeastAudit = 24 * time.Hour

// Prunes returns the statements by which maintenance deletes leftovers of all consumers.
func Prunes(names pgmigrate.Names) (map[string]string, error) {
	return sqlfile.LoadAll(statements, names.Render, "attempt_prune", "note_prune", "audit_prune")
}
