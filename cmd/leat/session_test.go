package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/internal/cli"
	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
)

// session is an operator at a shell: commands, what they print, and how they exit.
type session struct {
	t          *testing.T
	env        []string
	transcript strings.Builder
}

// newSession has nothing in its environment but the database at url, and an actor.
func newSession(t *testing.T, url string) *session {
	t.Helper()
	env := []string{"LEAT_ACTOR=ann", "HOME=" + t.TempDir(), "TZ=UTC"}
	if url != "" {
		env = append(env, "LEAT_DATABASE_URL="+url)
	}
	return &session{t: t, env: env}
}

// result is how a command ended.
type result struct {
	out, err string
	code     int
}

// patience is how long a command may take on a busy machine.
const patience = 2 * time.Minute

// leat runs a command, without a terminal: in this process, unless the environment has
// variables that packages of others read, such as pgx.
func (s *session) leat(args ...string) result {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var out, stderr bytes.Buffer
	if env, ours := s.variables(); ours {
		code := cli.Main(ctx, command.Process{
			Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &stderr,
			LookupEnv: func(name string) (string, bool) {
				value, ok := env[name]
				return value, ok
			},
		})
		return result{out.String(), stderr.String(), code}
	}
	cmd := exec.CommandContext(ctx, os.Getenv(binaryVariable), args...)
	cmd.Env = s.env
	cmd.Stdout, cmd.Stderr = &out, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(s.t, err)
	}
	return result{out.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// variables returns the environment, and whether leat alone reads it.
func (s *session) variables() (env map[string]string, ours bool) {
	env, ours = make(map[string]string), true
	for _, entry := range s.env {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
		ours = ours && (strings.HasPrefix(name, "LEAT_") || name == "HOME" || name == "TZ" || name == "PASSWORD")
	}
	return env, ours
}

// run runs a command, which is to exit with code, and writes all down.
func (s *session) run(code int, args ...string) {
	s.t.Helper()
	r := s.leat(args...)
	require.Equal(s.t, code, r.code, "leat %q\n%s%s", args, r.out, r.err)
	fmt.Fprintf(&s.transcript, "$ leat %s\n%s", quoted(args), r.out)
	for line := range strings.Lines(r.err) {
		s.transcript.WriteString("stderr: " + line)
	}
	if code != 0 {
		fmt.Fprintf(&s.transcript, "exit status %d\n", code)
	}
	s.transcript.WriteString("\n")
}

// transcriptWithout writes name where the transcript has what differs from run to run.
func (s *session) transcriptWithout(what, name string) {
	text := strings.ReplaceAll(s.transcript.String(), what, name)
	s.transcript.Reset()
	s.transcript.WriteString(text)
}

func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.ContainsAny(arg, " *'\"") || arg == "" {
			words[i] = "'" + arg + "'"
		}
	}
	return strings.Join(words, " ")
}

// golden compares what was written down with testdata/name.golden.
func (s *session) golden(name string) {
	s.t.Helper()
	path := filepath.Join("testdata", name+".golden")
	got := normalise(s.transcript.String())
	if *update {
		require.NoError(s.t, os.MkdirAll("testdata", 0o755))
		require.NoError(s.t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(s.t, err)
	require.Equal(s.t, string(want), got, "if it is meant: go test -C cmd/leat -run %s -update .", s.t.Name())
}

// volatile is what differs from run to run, and what stands for it.
var volatile = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d\.\d{3}`), "<clock>"},
	{regexp.MustCompile(`("\w+_seconds"):[0-9.e+-]+`), `$1:<seconds>`},
	{regexp.MustCompile(`("(?:log_)?bytes"):[0-9]+`), `$1:<bytes>`},
	{regexp.MustCompile(`"log_rows":[0-9]+`), `"log_rows":<rows>`},
	{regexp.MustCompile(`\b[0-9.]+ ([KMG]i)?B\b`), "<size>"},
	{regexp.MustCompile(`\bin \d+[dhm]\d\d[hms]\b`), "in <duration>"},
	{regexp.MustCompile(`(^|[\s",:])(\d+ms|[0-9.]+s|\d+[dhm]\d\d[hms])\b`), "$1<duration>"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uuid>"},
	{regexp.MustCompile(`[\w.-]+(/[\w.-]+)?/0?<uuid>(/\d+)?`), "<relay>"}, // a slot has a number
	{regexp.MustCompile(`go1\.\d+(\.\d+)?`), "<go>"},
	{regexp.MustCompile(`linux/\w+`), "<platform>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "<address>"},
	{regexp.MustCompile(`/tmp/[^\s"]*/`), "<dir>/"},
	{regexp.MustCompile(`leat_test_\w+`), "<database>"},
	{regexp.MustCompile(`("position"):"[^"]*"`), `$1:"<position>"`},
	{regexp.MustCompile(` {2,}`), "  "},
}

// normalise is the one place in which goldens are made alike.
func normalise(text string) string {
	for _, v := range volatile {
		text = v.what.ReplaceAllString(text, v.with)
	}
	return text
}
