package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Vitess is built from its module, whose go.sum verifies its dependencies. vtcombo is all of Vitess in one
// process: a topology, the tablets and vtgate.
const (
	vitessModule = "vitess.io/vitess@v0.24.4"
	vitessSum    = "h1:fjIFc28fGYF6Bxu4heHsKvx+huPbA4NmIeLJL4clbc8="
)

// EnvVitess makes [Vitess] build Vitess if it was not built before.
const EnvVitess = "LEAT_VITESS"

// Vitess starts a cluster for the test alone, in front of a MySQL for the test alone. keyspaces lists the
// shards of each keyspace, such as {"shop": {"-80", "80-"}, "plain": {"0"}}. It returns vtgate's address
// and MySQL. The test is skipped in CI, and if Vitess was not built: only runs before a release use it.
func Vitess(tb testing.TB, keyspaces map[string][]string) (hostPort string, below *PrivateMySQLServer) {
	tb.Helper()
	program, err := findVtcombo(context.Background())
	if err != nil {
		tb.Skip(err)
	}
	below = PrivateMySQL(tb, map[string]string{
		"server-id": "1", "gtid-mode": "ON", "enforce-gtid-consistency": "ON", "performance-schema": "ON", "max-connections": "1000",
	})
	s := startPrivate(tb, "Vitess", func(ctx context.Context) (*Own, error) {
		u, err := url.Parse(below.URL)
		if err != nil {
			return nil, err
		}
		v := vitessServer{program: program, port: u.Port(), keyspaces: keyspaces}
		if err := v.createDatabases(ctx, u.Host); err != nil {
			return nil, err
		}
		s, err := serve(ctx, "vitess", v)
		if err != nil {
			return nil, err
		}

		return newOwn(Service{Address: s.address(), Version: s.version}, s), nil
	})

	return s.own.HostPort, below
}

// findVtcombo returns the path of vtcombo. It builds the program if EnvVitess is set.
func findVtcombo(ctx context.Context) (string, error) {
	cache, err := cacheDir()
	if err != nil {
		return "", err
	}
	_, version, _ := strings.Cut(vitessModule, "@")
	dir := filepath.Join(cache, "vitess-"+version)
	program := filepath.Join(dir, "vtcombo")
	if _, err := os.Stat(program); err == nil && !inCI() {
		return program, nil
	}
	if os.Getenv(EnvVitess) == "" || inCI() {
		return "", fmt.Errorf("%w: Vitess runs before a release, not in CI: set %s=1 to have it built, which takes most of an hour", ErrUnavailable, EnvVitess)
	}

	return program, once(ctx, dir, func(dir string) error { return buildVtcombo(ctx, dir) })
}

// buildVtcombo builds vtcombo in the module's own directory. As a dependency it would need the module's
// replacements and exclusions.
func buildVtcombo(ctx context.Context, to string) error {
	run := func(dir string, args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir, cmd.Stderr, cmd.Env = dir, os.Stderr, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%w: Vitess: %v: %w", ErrUnavailable, cmd.Args, err)
		}

		return out, nil
	}
	out, err := run(to, "mod", "download", "-json", vitessModule)
	if err != nil {
		return err
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if module.Sum != vitessSum {
		return fmt.Errorf("%w: %s: want %s, got %s", errSum, vitessModule, vitessSum, module.Sum)
	}
	_, err = run(module.Dir, "build", "-buildvcs=false", "-o", to+string(filepath.Separator), "./go/cmd/vtcombo")

	return err
}

// vitessServer is a cluster in front of the MySQL on a port.
type vitessServer struct {
	program, port string
	keyspaces     map[string][]string
}

// createDatabases creates the databases of the shards.
func (s vitessServer) createDatabases(ctx context.Context, hostPort string) error {
	conn, err := dialMySQL(ctx, hostPort)
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.login("root"); err != nil {
		return err
	}
	for keyspace, shards := range s.keyspaces {
		for _, shard := range shards {
			if err := conn.do("CREATE DATABASE `vt_" + keyspace + "_" + shard + "`"); err != nil {
				return err
			}
		}
	}

	return nil
}

// topology returns the description of the cluster that vtcombo reads.
func (s vitessServer) topology() string {
	type shard struct {
		Name string `json:"name"`
	}
	type keyspace struct {
		Name     string  `json:"name"`
		Shards   []shard `json:"shards"`
		Replicas int     `json:"replicaCount"` // including the primary
		Readers  int     `json:"rdonlyCount"`  // 0 means the default of one, negative means none
	}
	var all struct {
		Cells     []string   `json:"cells"`
		Keyspaces []keyspace `json:"keyspaces"`
	}
	all.Cells = []string{"test"}
	for name, shards := range s.keyspaces {
		k := keyspace{Name: name, Replicas: 1, Readers: -1} // further replicas would need an address of the primary
		for _, name := range shards {
			k.Shards = append(k.Shards, shard{name})
		}
		all.Keyspaces = append(all.Keyspaces, k)
	}
	text, _ := json.Marshal(all)

	return string(text)
}

func (s vitessServer) plan(dir string, port int) (plan, error) {
	user, err := unprivileged()
	if err != nil {
		return plan{}, err
	}
	web, err := freePort()
	if err != nil {
		return plan{}, err
	}
	argv := []string{
		s.program, "--bind-address=127.0.0.1", "--port=" + strconv.Itoa(web), "--json-topo=" + s.topology(),
		"--mysql-server-bind-address=127.0.0.1", "--mysql-server-port=" + strconv.Itoa(port), "--mysql-auth-server-impl=none",
		"--db-host=127.0.0.1", "--db-port=" + s.port, "--db-charset=utf8mb4", "--mycnf-server-id=1", "--mycnf-socket-file=" + filepath.Join(dir, "none"),
		// These are the flags of vttestserver, with more room for sessions.
		"--tablet-types-to-wait=PRIMARY", "--normalize-queries", "--dbddl-plugin=vttest", "--foreign-key-mode=allow", "--enable-system-settings=true", "--tablet-refresh-interval=10s",
		"--queryserver-config-pool-size=60", "--queryserver-config-stream-pool-size=60", "--queryserver-config-transaction-cap=60",
		"--queryserver-config-schema-reload-time=60s", "--queryserver-config-query-timeout=300s", "--queryserver-config-txpool-timeout=300s",
	}
	for _, role := range []string{"app", "dba", "appdebug", "allprivs", "filtered", "repl"} {
		argv = append(argv, "--db-"+role+"-user=root", "--db-"+role+"-password=")
	}

	return plan{
		User:    user,
		Prepare: [][]string{{"mkdir", "-p", filepath.Join(dir, "tmp")}},
		Env:     []string{"VTDATAROOT=" + dir, "VTTEST=endtoend"},
		Argv:    argv,
		Stop:    []stopStep{{Signal: int(syscall.SIGTERM), Wait: 20 * time.Second}},
	}, nil
}

// probe queries each shard, since they become ready one after another.
func (s vitessServer) probe(ctx context.Context, _ string, port int) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialMySQL(ctx, localAddress(port))
	if err != nil {
		return "", err
	}
	defer conn.close()
	if !strings.Contains(conn.version, "Vitess") {
		return "", errNotOurs
	}
	if err := conn.login("root"); err != nil {
		return "", err
	}
	for keyspace, shards := range s.keyspaces {
		for _, shard := range slices.Sorted(slices.Values(shards)) {
			if err := conn.do("USE `" + keyspace + ":" + shard + "`"); err != nil {
				return "", err
			}
			if _, err := conn.value("SELECT DATABASE()"); err != nil {
				return "", err
			}
		}
	}

	return conn.version, nil
}
