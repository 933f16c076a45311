package assemble

import (
	"cmp"

	"github.com/leat-go/leat/cmd/leat/internal/settings"
	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/middleware/metrics/pgmetrics"
	"github.com/leat-go/leat/middleware/metrics/sqlmetrics"
	"github.com/leat-go/leat/outbox"
)

// isSQL reports whether a database, or the one of the file if it is not set, is MySQL,
// MariaDB or SQLite.
func (b *builder) isSQL(database settings.Text) bool {
	return settings.IsSQL(cmp.Or(database.Value, b.in.Database))
}

// maintenanceHook lets metrics see the maintenance of an outbox.
func maintenanceHook(isSQL bool, observed *metrics.Outbox) (outbox.Hook, error) {
	if isSQL {
		return sqlmetrics.NewMaintenance(observed)
	}
	return pgmetrics.NewMaintenance(observed)
}

// inboxHook lets metrics see what is kept of an inbox.
func inboxHook(isSQL bool, m *metrics.Metrics, name string) (outbox.Hook, error) {
	if isSQL {
		return sqlmetrics.NewInbox(m, name)
	}
	return pgmetrics.NewInbox(m, name)
}
