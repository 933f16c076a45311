package main_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/open"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

// A daemon takes the password that is in its file, or in PGPASSFILE, for each connection that it
// opens: one that is rotated needs no restart and no signal. The commands are those of docs/operations.md.
//
//leat:level 4
func TestRun_PasswordChanges(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	for name, test := range map[string]struct {
		user string // of the URL, with %s for the file
		line string // of the file
	}{
		"file":     {"shop_file:${file:%s}", "%s"},
		"passfile": {"shop_passfile", "*:*:*:*:%s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := server.Database(t)
			role := "shop_" + name
			change := server.SignIn(t, db, role)
			secret := filepath.Join(t.TempDir(), "secret")
			require.NoError(t, os.WriteFile(secret, fmt.Appendf(nil, test.line, "first"), 0o600))
			change("first")
			cfg, err := pgx.ParseConfig(db.URL)
			require.NoError(t, err)
			at := fmt.Sprintf("@127.0.0.1:%d/%s?sslmode=disable", cfg.Port, url.PathEscape(db.Name))
			s := newSession(t, "postgres://"+role+":first"+at)
			up := s.leat("migrate", "up", "--yes")
			require.Zero(t, up.code, up.err)

			address := "postgres://" + strings.ReplaceAll(test.user, "%s", secret) + at
			s.env = append(s.env, "PGPASSFILE="+secret)
			d := s.begin("run", "--config", written(t, "leat.yaml", fmt.Sprintf(`
outboxes:
  - name: shop
    database: '%s'
    relays: [{sink: {kafka: {brokers: '127.0.0.1:1'}}}]
    maintenance: {}
http: {listen: '127.0.0.1:0'}
`, address)))
			for _, next := range []string{"second", "third", ""} {
				for _, own := range []string{"leat relay default", "leat"} {
					d.eventually(own+" is connected", func() bool {
						var n int
						err := db.Pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE usename = $1 AND application_name = $2", role, own).Scan(&n)
						return err == nil && n > 0
					})
				}
				if next != "" {
					rotate(t, db, role, secret, fmt.Sprintf(test.line, next), next)
					_, err := db.Pool.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1", role)
					require.NoError(t, err) // each connection is opened anew
					d.eventually("is well again", func() bool { return s.leat("health", "--url", d.url).out == "ok\n" })
				}
			}
			require.Zero(t, d.ends(syscall.SIGTERM), d.log)
		})
	}
}

// rotate does what docs/operations.md says, with its shell: the file as a whole, then the role.
func rotate(t *testing.T, db *testenv.Database, role, secret, line, password string) {
	t.Helper()
	steps := recipes(t, "Rotate a password")
	require.Len(t, steps, 3)
	write := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(steps[0].command, "/etc/leat/password", secret))
	write.Env = []string{"PATH=" + os.Getenv("PATH"), "NEW=" + line}
	said, err := write.CombinedOutput()
	require.NoError(t, err, string(said))
	require.Contains(t, steps[1].command, `\password leat`, "which asks for it: arguments are seen by all users")
	change := strings.NewReplacer("psql ", "psql '"+db.URL+"' ", "password leat", "password "+role).Replace(steps[1].command)
	(&shop{Database: db}).program(t, "printf '%s\n%s\n' "+password+" "+password+" | "+change)
	require.Equal(t, step{"leat health", []string{"ok\n"}}, steps[2])
}

// The same on MySQL and MariaDB.
//
//leat:level 2
func TestSQL_PasswordChanges(t *testing.T) {
	t.Parallel()
	onSQL(t, func(t *testing.T, s *sqlShop) {
		if s.dialect == outbox.SQLite {
			t.Skip("has no users")
		}
		user := "p" + testenv.NewDatabaseName("")[len("leat_test_"):]
		user = user[:min(len(user), 30)]
		s.exec(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'first'")
		t.Cleanup(func() { _, _ = s.db.Exec("DROP USER '" + user + "'@'%'") })
		var name string
		require.NoError(t, s.db.QueryRow("SELECT DATABASE()").Scan(&name))
		s.exec(t, "GRANT SELECT ON `"+name+"`.* TO '"+user+"'@'%'")
		password := "first"
		as := func(password string) string { return strings.Replace(s.url, "root@", user+":"+password+"@", 1) }
		changes, err := open.Open(t.Context(), open.Target{URL: as("first"), Again: func() (string, error) { return as(password), nil }})
		require.NoError(t, err)
		t.Cleanup(changes.Close)
		stays, err := open.Open(t.Context(), open.Target{URL: as("first")})
		require.NoError(t, err)
		t.Cleanup(stays.Close)
		require.NoError(t, changes.Ping(t.Context()))
		require.NoError(t, stays.Ping(t.Context()))

		password = "second"
		s.exec(t, "ALTER USER '"+user+"'@'%' IDENTIFIED BY 'second'")
		for _, id := range s.sessions(t, user) {
			_, _ = s.db.Exec("KILL " + strconv.Itoa(id)) // it may have ended
		}
		require.Eventually(t, func() bool { return changes.Ping(context.WithoutCancel(t.Context())) == nil }, patience, trxCache)
		require.Eventually(t, func() bool {
			err := stays.Ping(context.WithoutCancel(t.Context()))
			return err != nil && strings.Contains(err.Error(), "Access denied")
		}, patience, trxCache)
	})
}

// sessions are those of a user.
func (s *sqlShop) sessions(t *testing.T, user string) (ids []int) {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '"+user+"'")
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var id int
		require.NoError(t, rows.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(t, rows.Err())
	return ids
}
