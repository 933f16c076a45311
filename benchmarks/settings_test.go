package benchmarks

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// logSettings says what the figures were measured on.
func logSettings(b *testing.B, db *testenv.Database, broker *testenv.KafkaEnv) {
	b.Helper()
	var shown []string
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size"} {
		var value string
		require.NoError(b, db.Pool.QueryRow(b.Context(), "SELECT current_setting($1)", name).Scan(&value))
		shown = append(shown, name+"="+value)
	}
	if quick() {
		b.Log("quick run: the sizes are too small for figures that mean something")
	}
	kafka := ""
	if broker != nil {
		kafka = fmt.Sprintf("Kafka %s (real: %t); ", broker.Version, broker.Real)
	}
	b.Logf("%sPostgreSQL %s, %s; %s, %s/%s, GOMAXPROCS=%d",
		kafka, db.ServerVersion, strings.Join(shown, " "), runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
}
