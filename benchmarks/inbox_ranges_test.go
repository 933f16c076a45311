package benchmarks

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/benchmarks/internal/compare"
	"github.com/leat-go/leat/benchmarks/internal/results"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/internal/testenv"
)

// rememberedSize is how many ids inboxes remember, deliveries a round, and rounds.
type rememberedSize struct {
	small, large, deliveries, rounds int
}

// BenchmarkInboxRemembered measures whether a message costs more where the inbox
// remembers many: the handler of BenchmarkInboxHandler behind an inbox that remembers
// two weeks of many ids, one of few, one without ranges, and none.
func BenchmarkInboxRemembered(b *testing.B) {
	size := scale(b).remembered
	contender := func(name string, remembered int, ranges bool) compare.Contender {
		db := testenv.Postgres(b, migrated())
		logSettings(b, db, nil)
		in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
		require.NoError(b, err)
		handle := in.Handle(inTx(effect))
		if ranges {
			began := time.Now()
			rememberFortnight(b, db, in, remembered)
			b.Logf("%s: %d ids after %s", name, remembered, time.Since(began).Round(time.Millisecond))
			results.Record(b, name, "ids", float64(remembered))
		}
		if name == "bare" {
			handle = bareEffect(db.Pool)
		}
		_, err = deliver(b.Context(), 1, 20, handle)
		require.NoError(b, err)
		return compare.Contender{Name: name, Ops: size.deliveries, Run: func(int) (time.Duration, error) {
			return deliver(b.Context(), 1, size.deliveries, handle)
		}}
	}
	large := contender("large", size.large, true)
	rivals := []compare.Contender{contender("small", size.small, true), contender("plain", 0, false), contender("bare", 0, false)}
	_, err := testenv.Postgres(b).Pool.Exec(b.Context(), "CHECKPOINT") // else the server writes the many rows beside the first rounds
	require.NoError(b, err)
	b.ResetTimer()
	compare.Rounds(b, size.rounds, only(), "msg/s", append([]compare.Contender{large}, rivals...)...)
}

// rememberFortnight makes the ranges of two weeks and fills them evenly.
func rememberFortnight(b *testing.B, db *testenv.Database, in *pginbox.Inbox, count int) {
	b.Helper()
	m, err := pginbox.NewMaintenance(db.Pool, pginbox.Config{}, pginbox.MaintenanceConfig{Retention: 15 * 24 * time.Hour})
	require.NoError(b, err)
	require.NoError(b, m.Enable(b.Context()))
	_, err = m.RunOnce(b.Context())
	require.NoError(b, err)
	const days = 14
	for day := range days {
		id, err := uuid.NewV7()
		require.NoError(b, err)
		at := time.Now().Add(-time.Duration(day+1) * 24 * time.Hour).UnixMilli()
		for i := range 6 {
			id[i] = byte(at >> (40 - 8*i))
		}
		_, err = in.MarkProcessed(b.Context(), id.String()) // makes the range
		require.NoError(b, err)
	}
	_, err = db.Pool.Exec(b.Context(), `INSERT INTO leat.inbox_ranges
		SELECT 1, (lpad(to_hex((extract(epoch FROM now()) * 1000)::bigint - $1::bigint + n * $1::bigint / $2::bigint), 12, '0')
			|| '7' || substr(h, 1, 3) || '8' || substr(h, 4, 15))::uuid
		FROM generate_series(0, $2::bigint - 1) n, md5(n::text) h`, int64(days*24*time.Hour/time.Millisecond), count)
	require.NoError(b, err)
	_, err = db.Pool.Exec(b.Context(), "VACUUM ANALYZE leat.inbox_ranges")
	require.NoError(b, err)
}

// BenchmarkInboxWAL measures what a claim writes to the server's log, after a
// checkpoint, with ids of version 7 and of version 4: x-wal is how many times more the
// latter write.
func BenchmarkInboxWAL(b *testing.B) {
	size := scale(b).remembered
	remembered, claims := min(size.large, 1_000_000), size.deliveries*size.rounds
	server := testenv.PrivatePostgres(b, testenv.PostgresOptions{
		Settings: map[string]string{"max_wal_size": "8GB", "checkpoint_timeout": "1h", "autovacuum": "off"},
	})
	db := server.Database(b, migrated())
	logSettings(b, db, nil)
	in, err := pginbox.New(db.Pool, "benchmark", pginbox.Config{})
	require.NoError(b, err)
	rememberFortnight(b, db, in, remembered)
	_, err = db.Pool.Exec(b.Context(), "INSERT INTO leat.inbox (consumer, id) SELECT 1, gen_random_uuid() FROM generate_series(1, $1)", remembered)
	require.NoError(b, err)
	b.ResetTimer()
	var v7, v4 []float64
	for range b.N {
		v7 = append(v7, walOf(b, db, in, claims, uuid.NewV7))
		v4 = append(v4, walOf(b, db, in, claims, uuid.NewRandom))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(compare.Median(v7), "B/claim")
	b.ReportMetric(compare.Median(v4), "v4-B/claim")
	b.ReportMetric(compare.Median(v4)/compare.Median(v7), "x-wal")
	results.Record(b, "v7", "B/claim", v7...)
	results.Record(b, "v4", "B/claim", v4...)
}

// walOf returns the bytes of log a claim.
func walOf(b *testing.B, db *testenv.Database, in *pginbox.Inbox, claims int, newID func() (uuid.UUID, error)) float64 {
	b.Helper()
	_, err := db.Pool.Exec(b.Context(), "CHECKPOINT")
	require.NoError(b, err)
	const position = "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"
	var before, after float64
	require.NoError(b, db.Pool.QueryRow(b.Context(), position).Scan(&before))
	for range claims {
		id, err := newID()
		require.NoError(b, err)
		_, err = in.Process(b.Context(), message.NewMessage(id.String(), nil), func(context.Context) error { return nil })
		require.NoError(b, err)
	}
	require.NoError(b, db.Pool.QueryRow(b.Context(), position).Scan(&after))
	return (after - before) / float64(claims)
}
