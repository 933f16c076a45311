package testenv_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 4
func TestPrivatePostgres_KeepsItsDataAcrossACrash(t *testing.T) {
	t.Parallel()

	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"wal_level": "logical"}})
	db := server.Database(t)
	var level string
	require.NoError(t, db.Pool.QueryRow(t.Context(), `SHOW wal_level`).Scan(&level))
	require.Equal(t, "logical", level)
	_, err := db.Pool.Exec(t.Context(), `CREATE TABLE kept AS SELECT 1 AS n`)
	require.NoError(t, err)

	server.Restart("immediate")
	db.Pool.Reset()
	require.Equal(t, 1, count(t, db, "kept"))

	server.Stop("fast")
	db.Pool.Reset()
	require.Error(t, db.Pool.Ping(t.Context()))
	server.Start()
	require.Equal(t, 1, count(t, db, "kept"))
}

//leat:level 4
func TestPrivateKafka_KeepsItsRecordsAcrossAKill(t *testing.T) {
	t.Parallel()

	testenv.Long(t, "starts a broker three times")

	server := testenv.PrivateKafka(t)
	client, err := kgo.NewClient(kgo.SeedBrokers(server.Brokers...),
		kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics("kept"), kgo.DefaultProduceTopic("kept"))
	require.NoError(t, err)
	defer client.Close()
	produce := func(value string) {
		require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord(value)).FirstErr())
	}

	produce("before the stop")
	server.Stop()
	server.Start()
	produce("before the kill")
	server.Kill()
	server.Start()
	produce("after the kill")

	seen := map[string]bool{}
	for len(seen) < 3 {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err0())
		fetches.EachRecord(func(r *kgo.Record) { seen[string(r.Value)] = true })
	}
	require.Contains(t, seen, "before the kill")
}
