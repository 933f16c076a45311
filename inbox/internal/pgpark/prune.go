package pgpark

import (
	"time"

	"github.com/leat-go/leat/internal/pgmigrate"
	"github.com/leat-go/leat/internal/sqlfile"
)

// LeastAudit is how long the audit is kept in any case: what operators have done today
// can be asked about tomorrow.
const LeastAudit = 24 * time.Hour

// Prunes returns the statements by which maintenance forgets what all consumers have left.
func Prunes(names pgmigrate.Names) (map[string]string, error) {
	return sqlfile.LoadAll(statements, names.Render, "attempt_prune", "note_prune", "audit_prune")
}
