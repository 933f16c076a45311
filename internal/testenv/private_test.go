package testenv_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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

// envVictim makes this test binary the run that is killed.
const envVictim = "LEAT_TESTENV_VICTIM"

//leat:level 4
func TestSIGKILL_LeavesNoServerBehind(t *testing.T) {
	t.Parallel()

	if os.Getenv(envVictim) != "" {
		beVictim(t)

		return
	}
	victim := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	victim.Env = append(os.Environ(), envVictim+"=1")
	victim.Stderr = os.Stderr
	_, err := victim.StdinPipe() // stays open: the victim blocks on it
	require.NoError(t, err)
	out, err := victim.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, victim.Start())
	url, directory := readVictim(t, out)
	require.NoError(t, ping(t.Context(), url))
	require.DirExists(t, directory)

	require.NoError(t, victim.Process.Kill())
	require.Error(t, victim.Wait())

	require.Eventually(t, func() bool {
		_, err := os.Stat(directory)

		return ping(t.Context(), url) != nil && os.IsNotExist(err)
	}, 30*time.Second, 50*time.Millisecond, "the supervisor stops the server and removes its directory")
}

// beVictim starts a server, says where it is and waits to be killed.
func beVictim(t *testing.T) {
	t.Helper()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	var directory string
	err := server.Database(t).Pool.QueryRow(t.Context(), `SHOW data_directory`).Scan(&directory)
	require.NoError(t, err)
	fmt.Printf("victim %s %s\n", server.URL(), directory)
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
}

func readVictim(t *testing.T, out io.Reader) (url, directory string) {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "victim "); ok {
			url, directory, _ = strings.Cut(rest, " ")

			return url, directory
		}
	}
	require.FailNow(t, "the victim said nothing", "%v", lines.Err())

	return "", ""
}

func ping(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}

	return conn.Close(ctx)
}
