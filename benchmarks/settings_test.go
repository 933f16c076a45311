package benchmarks

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/internal/testenv"
)

// logSettings says what the figures are measured on, in the log and beside the
// samples. The broker may be nil.
func logSettings(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) {
	b.Helper()
	settings := map[string]string{}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size", "wal_level"} {
		var value string
		require.NoError(b, db.Pool.QueryRow(b.Context(), "SELECT current_setting($1)", name).Scan(&value))
		settings[name] = value
	}
	if *scaleName == scaleCI {
		b.Log("scale ci: the sizes are too small for figures that mean something")
	}
	results.Uses(b, results.Server{Name: "PostgreSQL", Version: db.ServerVersion, Settings: settings})
	b.Logf("PostgreSQL %s, %v", db.ServerVersion, settings)
	if broker != nil {
		server := results.Server{Name: "kfake", Version: "in this process"}
		if broker.Real {
			server = results.Server{Name: "Apache Kafka", Version: broker.Version}
		}
		results.Uses(b, server)
		b.Logf("%s %s", server.Name, server.Version)
	}
}
