package benchmarks

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

// eachServer runs bench on the shared server, which may not wait for the disk (its
// log says so), and on one that does. The first shows what leat costs where all
// else is cheap, the second what it costs where commits are durable, and is what the
// gates are about: a quick run has no time for the first.
func eachServer(b *testing.B, bench func(b *testing.B, db *testenv.Database)) {
	b.Helper()
	if *scaleName != scaleQuick {
		b.Run("server=shared", func(b *testing.B) {
			bench(b, testenv.Postgres(b, migrated()))
		})
	}
	b.Run("server=durable", func(b *testing.B) {
		server := testenv.PrivatePostgres(b, testenv.PostgresOptions{
			Settings: map[string]string{"shared_buffers": "256MB", "max_wal_size": "4GB"},
		})
		bench(b, server.Database(b, migrated()))
	})
}
