package main_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox/admin"
)

// interrupted runs a command until it has printed a line with text, sends it a signal and
// returns what it has printed and how it ended.
func (s *session) interrupted(text string, before func(), args ...string) (string, int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env = s.env
	out, err := cmd.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, cmd.Start())
	lines := bufio.NewScanner(out)
	var all strings.Builder
	first := true
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
		if first {
			before()
			first = false
		}
		if strings.Contains(lines.Text(), text) {
			require.NoError(s.t, cmd.Process.Signal(syscall.SIGTERM))
			break
		}
	}
	for lines.Scan() {
		all.WriteString(lines.Text() + "\n")
	}
	_ = cmd.Wait()
	return all.String(), cmd.ProcessState.ExitCode()
}

// A status that is watched, and an audit that is followed, end when they are interrupted.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	o := newSession(t, s.URL)
	out, code := o.interrupted(`"paused":["*"]`, func() {
		require.NoError(t, s.ob.Admin().Pause(t.Context(), admin.PauseRequest{By: admin.By{Actor: "bob", Reason: "INC-1"}, Group: "default"}))
	}, "status", "--watch", "100ms", "-o", "jsonl")
	require.Equal(t, 130, code, out)

	out, code = o.interrupted("bobs reason", func() {
		_, err := s.ob.Admin().Drop(t.Context(), admin.ChangeRequest{By: admin.By{Actor: "bob", Reason: "bobs reason"}, Selection: admin.Selection{ID: "m-5"}})
		require.NoError(t, err)
	}, "audit", "--follow", "-o", "jsonl")
	require.Equal(t, 130, code, out)
	require.Equal(t, 1, strings.Count(out, "bobs reason"), "each entry once")
	require.Equal(t, 1, strings.Count(out, `"no":1,`), "each entry once")
}

// A database that is unavailable is told without its password.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	o := newSession(t, "postgres://ann:secret@127.0.0.1:1/shop?connect_timeout=2")
	r := o.leat("status")
	require.Equal(t, 1, r.code, r.err)
	require.NotContains(t, r.out+r.err, "secret")
	require.Contains(t, r.err, "127.0.0.1")
	o = newSession(t, "postgres://ann:secret@127.0.0.1:port/shop")
	r = o.leat("status")
	require.Equal(t, 2, r.code, r.err)
	require.NotContains(t, r.out+r.err, "secret")
	require.NotContains(t, r.err, "panic")
	for url, text := range map[string]string{
		"mysql://ann:secret@127.0.0.1":           "must name the database",
		"mysql://ann:secret@127.0.0.1:port/shop": "database = ",
		"mysql://ann:sec ret@127.0.0.1/shop":     "database = ",
		"mysql://ann:secret@h/shop?timeout=soon": "database = ",
		"redis://ann:secret@127.0.0.1/shop":      "must be a URL of",
		"sqlite::memory:":                        "must be sqlite: and the path",
	} {
		r := newSession(t, url).leat("status")
		require.Equal(t, 2, r.code, "%s: %s", url, r.err)
		require.Contains(t, r.err, text, url)
		require.NotContains(t, r.out+r.err, "secret")
		require.NotContains(t, r.out+r.err, "sec ret")
		require.NotContains(t, r.err, "panic")
	}
	for _, url := range []string{"mysql://ann:secret@127.0.0.1:1/shop", "mariadb://ann:secret@127.0.0.1:1/shop", "sqlite:/nowhere/shop.db"} {
		r := newSession(t, url).leat("status")
		require.Equal(t, 1, r.code, "%s: %s", url, r.err)
		require.NotContains(t, r.out+r.err, "secret")
	}
}

// PG* variables and service files say where the database is, too.
func TestPGVariables(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.Pool.Config().ConnConfig
	o := newSession(t, "")
	require.Equal(t, 2, o.leat("status").code, "no database is named")
	o.env = append(o.env, "PGHOST="+c.Host, "PGPORT="+itoa(int(c.Port)), "PGUSER="+c.User, "PGPASSWORD="+c.Password, "PGDATABASE="+c.Database, "PGSSLMODE=disable")
	r := o.leat("status")
	require.Zero(t, r.code, r.err)
	file := filepath.Join(t.TempDir(), "services")
	require.NoError(t, os.WriteFile(file, []byte("[shop]\nhost="+c.Host+"\nport="+itoa(int(c.Port))+"\nuser="+c.User+"\npassword="+c.Password+"\ndbname="+c.Database+"\nsslmode=disable\n"), 0o600))
	o = newSession(t, "")
	o.env = append(o.env, "PGSERVICEFILE="+file, "PGSERVICE=shop")
	r = o.leat("status")
	require.Zero(t, r.code, r.err)
}

// Shells complete groups, topics and consumers from the database.
func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.trouble(t)
	s.consume(t)
	for line, want := range map[string]string{
		"leat groups show ":                   "default\nmail\n",
		"leat parked list --topic ":           "mails\norders\norders.eu\n",
		"leat inbox attempts --consumer ":     "billing\nloyalty\nstock\n",
		"leat inbox retention ":               "enable\nlower\nshow\n",
		"leat dead redrive --group m":         "mail\n",
		"leat inbox watermarks remove --part": "--partition\n",
	} {
		o := newSession(t, s.URL)
		o.env = append(o.env, "COMP_LINE="+line, "COMP_POINT="+itoa(len(line)))
		r := o.leat()
		require.Equal(t, want, sortedLines(r.out), "%s: %s", line, r.err)
	}
	require.Contains(t, newSession(t, "").leat("completion", "bash").out, "complete -o default -o bashdefault -C")
	require.Contains(t, newSession(t, "").leat("completion", "fish").out, "complete -f -c leat")
	require.Equal(t, 2, newSession(t, "").leat("completion", "cmd").code)
}
