package pginbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// place is where a database is.
type place struct {
	hosts            []string // the service connects to whichever can be written; operators use the last one
	database, schema string
}

func (p place) url() string {
	return "postgres://postgres@" + p.hosts[len(p.hosts)-1] + "/" + p.database + "?sslmode=disable"
}

// config is that of the service.
func (p place) config(t *testing.T) *pgxpool.Config {
	t.Helper()
	var hosts, ports []string
	for _, address := range p.hosts {
		host, port, err := net.SplitHostPort(address)
		require.NoError(t, err)
		hosts, ports = append(hosts, host), append(ports, port)
	}
	cfg, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s port=%s user=postgres dbname=%s sslmode=disable target_session_attrs=read-write",
		strings.Join(hosts, ","), strings.Join(ports, ","), p.database))
	require.NoError(t, err)
	cfg.MaxConns = 16
	return cfg
}

// step returns a step of the page.
func (m *moving) step(text string) string {
	m.t.Helper()
	require.Contains(m.t, m.page, text, "a step that is not on the page")
	return text
}

// command runs a command of the page on the database at p, with words of it replaced, and returns what it prints.
func (m *moving) command(p place, command string, words ...string) (out string, err error) {
	m.t.Helper()
	line := strings.NewReplacer(append(words, "GROUP", "default")...).Replace(strings.TrimPrefix(m.step(command), "leat "))
	if strings.HasPrefix(line, "rebase ") {
		line += " --reason moved --yes"
	}
	cmd := exec.CommandContext(m.t.Context(), m.leat, strings.Fields(line)...)
	cmd.Env = []string{"LEAT_ACTOR=ann", "HOME=" + filepath.Dir(m.leat), "LEAT_DATABASE_URL=" + p.url(), "LEAT_SCHEMA=" + p.schema}
	if strings.HasPrefix(line, "inbox ") {
		cmd.Env = append(cmd.Env, "LEAT_KAFKA_BROKERS="+strings.Join(m.kafka.Brokers, ","))
	}
	raw, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("leat %s: %w\n%s%s", line, err, raw, exit.Stderr)
	}
	return string(raw), err
}

// operate is command for one that must succeed.
func (m *moving) operate(p place, command string, words ...string) string {
	m.t.Helper()
	out, err := m.command(p, command, words...)
	require.NoError(m.t, err)
	return out
}

// healthy waits until leat doctor finds nothing that has failed: on a busy machine a destination may be out for a moment.
func (m *moving) healthy() {
	m.t.Helper()
	var last error
	defer func() {
		if last != nil {
			m.t.Log(last)
		}
	}()
	m.await("leat doctor finds nothing", func() bool {
		_, last = m.command(m.at, "leat doctor")
		return last == nil
	})
}

// advice returns what a check of leat doctor wants to be done, where the database is now; "" for nothing.
func (m *moving) advice(check string) string {
	m.t.Helper()
	out, _ := m.command(m.at, "leat doctor --only "+check, check, check+" -o json") // its status is that of what it finds
	var found struct{ Findings []struct{ Advice string } }
	require.NoError(m.t, json.Unmarshal([]byte(out), &found), out)
	var all []string
	for _, f := range found.Findings {
		all = append(all, f.Advice)
	}
	return strings.Join(all, "\n")
}

// ask returns the one value that a statement returns at p.
func ask[T any](m *moving, p place, statement string) (value T) {
	m.t.Helper()
	conn, err := pgx.Connect(m.t.Context(), p.url())
	require.NoError(m.t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(m.t.Context())) }()
	require.NoError(m.t, conn.QueryRow(m.t.Context(), statement).Scan(&value), statement)
	return value
}

// sql runs statements at p.
func (m *moving) sql(p place, statements string) {
	m.t.Helper()
	conn, err := pgx.Connect(m.t.Context(), p.url())
	require.NoError(m.t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(m.t.Context())) }()
	_, err = conn.Exec(m.t.Context(), statements)
	require.NoError(m.t, err, statements)
}

// shell runs a line with the programs of the server at hand.
func (m *moving) shell(line string) {
	m.t.Helper()
	programs := ask[string](m, m.at, "SELECT setting FROM pg_config WHERE name = 'BINDIR'")
	cmd := exec.CommandContext(m.t.Context(), "sh", "-ec", line)
	cmd.Env = append(os.Environ(), "PATH="+programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(m.t, err, string(out))
}
