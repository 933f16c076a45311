package main_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// way is a way to a server, or to a destination, on which leat is tried.
type way struct {
	server, how string
	// prove starts it, and tries it with JSON as the output. The version is empty if prove tells it.
	prove func(t *testing.T) (r result, version string)
}

// proven are the places of what TestProvenOn writes.
const (
	provenPage = "../../docs/proven-on.md"
	provenDir  = "../../docs/proven"
)

// ways are all that tests can start, in the order of the page.
func ways() (all []way) {
	on := func(server, how string, open func(t *testing.T) *session) {
		all = append(all, way{server, how, func(t *testing.T) (result, string) {
			return open(t).leat("prove", "-o", "json", "--workload", "5s"), ""
		}})
	}
	for _, version := range []string{"14", "15", "16", "17", "18"} {
		on("PostgreSQL "+version, "direct", func(t *testing.T) *session {
			return newSession(t, testenv.PrivatePostgres(t, testenv.PostgresOptions{Version: version}).Database(t).URL)
		})
	}
	for _, mode := range []testenv.PoolMode{testenv.PoolSession, testenv.PoolTransaction, testenv.PoolStatement} {
		on("PostgreSQL", "PgBouncer, "+string(mode)+" mode", func(t *testing.T) *session {
			return newSession(t, testenv.PgBouncer(t, testenv.Postgres(t), mode).URL)
		})
	}
	const still = ", standby that stands still"
	on("PostgreSQL", "pgpool-II"+still, func(t *testing.T) *session {
		server, standby, db := stoodStill(t)
		return newSession(t, testenv.PgPool(t, db, server, standby).URL)
	})
	for how, away := range map[string]func(string) bool{"by functions": faultnet.ByFunctions, "by text": faultnet.ByText} {
		on("PostgreSQL", "splitter "+how+still, func(t *testing.T) *session {
			server, standby, db := stoodStill(t)
			return newSession(t, via(t, db, faultnet.Splitter{Primary: server.Address(), Standby: standby.Address(), Away: away}.Listen(t)))
		})
	}
	for dialect, server := range map[outbox.Dialect]func(testing.TB) testenv.MySQLServer{outbox.MySQL: testenv.MySQL, outbox.MariaDB: testenv.MariaDB} {
		on(map[outbox.Dialect]string{outbox.MySQL: "MySQL", outbox.MariaDB: "MariaDB"}[dialect], "direct", func(t *testing.T) *session {
			address, _ := newSQLDatabase(t, dialect, server(t).URL)
			return newSession(t, address)
		})
	}
	on("MySQL", "splitter, to another server", func(t *testing.T) *session {
		address, host := splitMySQL(t)
		return newSession(t, sqlVia(t, address, host))
	})
	for how, single := range map[string]string{"one primary": "ON", "several primaries": "OFF"} {
		on("MySQL", "group replication, "+how, func(t *testing.T) *session { return newSession(t, groupOfOne(t, single)) })
	}
	for how, database := range map[string]string{"an unsharded keyspace": "plain", "one of two shards": "shop:-80"} {
		on("Vitess", how, func(t *testing.T) *session {
			vtgate, _ := testenv.Vitess(t, map[string][]string{"plain": {"0"}, "shop": {"-80", "80-"}})
			return newSession(t, "mysql://root@"+vtgate+"/"+database)
		})
	}
	on("MariaDB", "a node of Galera", func(t *testing.T) *session { return newSession(t, nodeOfGalera(t)) })
	on("SQLite", "a file on a local disk", func(t *testing.T) *session {
		s := newSession(t, "sqlite:"+t.TempDir()+"/shop.db")
		s.env = append(s.env, "LANG=C") // runs the program
		return s
	})
	for name, start := range destinations() {
		all = append(all, way{name, "direct", func(t *testing.T) (result, string) {
			d := start(t)
			return d.session(t).leat(append([]string{"prove", "-o", "json", "--to", d.topic}, d.args...)...), name + " " + d.version
		}})
	}
	all = append(all, way{"DynamoDB Local", "direct", proveDynamo})
	order := []string{"PostgreSQL", "MySQL", "Vitess", "MariaDB", "SQLite", "DynamoDB", "Kafka", "RabbitMQ", "Redis", "NATS"}
	at := func(w way) int {
		return slices.IndexFunc(order, func(name string) bool { return strings.HasPrefix(w.server, name) })
	}
	slices.SortStableFunc(all, func(a, b way) int {
		if by := at(a) - at(b); by != 0 {
			return by
		}
		return strings.Compare(a.server+a.how, b.server+b.how)
	})
	return all
}

// proveDynamo tries DynamoDB Local by its own program.
func proveDynamo(t *testing.T) (r result, version string) {
	t.Helper()
	env := testenv.Dynamo(t)
	cmd := exec.CommandContext(t.Context(), "go", "run", "github.com/leat-go/leat/inbox/dynamoinbox/leat-prove-dynamodb",
		"-o", "json", "-workload", "5s", "-prefix", env.Prefix)
	cmd.Env = append(os.Environ(), "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=leat", "AWS_SECRET_ACCESS_KEY=leat", "AWS_ENDPOINT_URL_DYNAMODB="+env.URL)
	var out, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &stderr
	_ = cmd.Run() // what it prints tells
	return result{out: out.String(), err: stderr.String()}, strings.TrimSuffix("DynamoDB Local "+env.Version, " Local")
}

// stoodStill is a primary with a database, and a standby that has applied nothing since.
func stoodStill(t *testing.T) (*testenv.PostgresServer, *testenv.PostgresStandby, *testenv.Database) {
	t.Helper()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{})
	standby := server.Standby(t)
	db := server.Database(t)
	standby.Pause() // with the database
	return server, standby, db
}

// groupOfOne is a database on the only member of a group replication.
func groupOfOne(t *testing.T, single string) (address string) {
	t.Helper()
	server := testenv.PrivateMySQL(t, map[string]string{
		"server-id": "1", "gtid-mode": "ON", "enforce-gtid-consistency": "ON", "performance-schema": "ON",
		"plugin-load-add": "group_replication.so", "group-replication-group-name": "aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa",
		"group-replication-local-address": freeAddress(t), "group-replication-bootstrap-group": "ON", "group-replication-start-on-boot": "ON",
		"group-replication-single-primary-mode": single, "group-replication-enforce-update-everywhere-checks": map[string]string{"ON": "OFF", "OFF": "ON"}[single],
	})
	u, err := url.Parse(server.URL)
	require.NoError(t, err)
	db, err := sql.Open("mysql", "root@tcp("+u.Host+")/")
	require.NoError(t, err)
	defer db.Close()
	require.Eventually(t, func() bool {
		var online bool
		err := db.QueryRowContext(t.Context(), "SELECT member_state = 'ONLINE' AND NOT @@super_read_only FROM performance_schema.replication_group_members").Scan(&online)
		return err == nil && online
	}, patience, patience/1000)
	address, _ = newSQLDatabase(t, outbox.MySQL, server.URL)
	return address
}

// nodeOfGalera is a database on the only node of a cluster.
func nodeOfGalera(t *testing.T) (address string) {
	t.Helper()
	server := testenv.PrivateMariaDB(t, map[string]string{
		"wsrep-on": "ON", "wsrep-provider": testenv.Galera(t), "wsrep-cluster-address": "gcomm://", "wsrep-node-address": "127.0.0.1",
		"wsrep-provider-options": "gmcast.listen_addr=tcp://" + freeAddress(t), "binlog-format": "ROW", "innodb-autoinc-lock-mode": "2",
	})
	address, _ = newSQLDatabase(t, outbox.MariaDB, server.URL)
	return address
}

// freeAddress is one on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// begins is how the line of the page about a way begins.
func (w way) begins() string { return fmt.Sprintf("| %s | %s | ", w.server, w.how) }

// file is where what prove has printed is kept.
func (w way) file() string {
	name := regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(w.server+"-"+w.how), "-")
	return name + ".txt"
}

// What docs/proven-on.md says of each way is what prove finds there. With -update the page is written, and what
// prove has found; what was skipped stays.
//
//leat:level 4
func TestProvenOn(t *testing.T) {
	page, err := os.ReadFile(provenPage)
	require.NoError(t, err)
	const begin, end = "<!-- From here on: go test -C cmd/leat -run TestProvenOn -update . -->\n", "<!-- To here. -->\n"
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok)
	all := ways()
	lines := make([]string, len(all))
	for line := range strings.Lines(table) {
		if i := slices.IndexFunc(all, func(w way) bool { return strings.HasPrefix(line, w.begins()) }); i >= 0 {
			lines[i] = line
		}
	}
	var mu sync.Mutex
	t.Run("ways", func(t *testing.T) {
		for i, w := range all {
			t.Run(w.server+", "+w.how, func(t *testing.T) {
				t.Parallel()
				r, version := w.prove(t)
				var proof prover.Report
				require.NoError(t, json.Unmarshal([]byte(r.out), &proof), r.err)
				if version == "" {
					version = proof.Server
				}
				row := w.begins() + string(proof.Outcome) + " |"
				if !*update {
					require.Contains(t, table, row, "%s%s", r.out, r.err)
					return
				}
				line := fmt.Sprintf("%s %s | %s | [output](proven/%s) |\n", row, short(version), time.Now().UTC().Format(time.DateOnly), w.file())
				mu.Lock()
				defer mu.Unlock()
				lines[i] = line
				require.NoError(t, os.WriteFile(filepath.Join(provenDir, w.file()), []byte(printed(version, w.how, proof.Findings)), 0o600))
			})
		}
	})
	if !*update || t.Failed() {
		return
	}
	table = "| server | way | outcome | version | last run | |\n|---|---|---|---|---|---|\n" + strings.Join(lines, "")
	require.NoError(t, os.WriteFile(provenPage, []byte(before+begin+table+end+after), 0o600))
}

// printed is what prove has found, without what each probe took, and without the name of this machine.
func printed(version, how string, findings []prover.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s\n\n", version, how)
	for _, f := range findings {
		whole := func(text, first, _ string) []string { return []string{first + text} }
		b.WriteString(strings.Join(f.Lines(whole, func(o prover.Outcome) string { return string(o) }), "\n") + "\n")
	}
	text := b.String()
	if name, err := os.Hostname(); err == nil {
		text = strings.ReplaceAll(text, name, "host")
	}
	return text
}

// short is a version without how it was built.
func short(version string) string {
	for _, mark := range []string{"(", " on ", ","} {
		version, _, _ = strings.Cut(version, mark)
	}
	return strings.TrimSpace(version)
}
