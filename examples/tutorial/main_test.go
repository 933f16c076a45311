package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/leat-go/leat/examples/internal/program"
	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 4
func TestMain(m *testing.M) { testenv.Main(m) }

// patience bounds the wait for what a step shows.
const patience = time.Minute

// TestTutorial does what docs/tutorial.md says, and wants what it shows.
func TestTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/tutorial.md")
	require.NoError(t, err)
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Contains(t, string(page), "```go\n"+string(source)+"```\n")
	setup, _, _ := strings.Cut(string(page), "\nEND\n")
	_, setup, found := strings.Cut(setup, "<<END\n")
	require.True(t, found)

	broker := testenv.PrivateKafka(t).Brokers[0]
	r := reader{program: program.Start(t, broker, setup), leat: filepath.Join(t.TempDir(), "leat")}
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", r.leat, "github.com/leat-go/leat/cmd/leat").CombinedOutput()
	require.NoError(t, err, string(out))
	steps := 0
	for _, block := range strings.Split(string(page), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for _, step := range strings.Split("\n"+block, "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			r.try(t, command, strings.TrimSpace(want))
			steps++
		}
	}
	require.Greater(t, steps, 10)

	// "Deliver everything again": ann's new order comes behind her old ones.
	r.program.Interrupt(t)
	deliverAgain(t, broker)
	r.program.Run(t)
	r.try(t, "curl -X POST 'localhost:8080/orders/4?customer=ann'", "")
	r.try(t, "psql shop -Atc 'SELECT customer, points FROM accounts ORDER BY customer'", "ann|3\neve|1")
}

// deliverAgain sets the consumer group back, which nobody may be a member of.
func deliverAgain(t *testing.T, broker string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	require.NoError(t, err)
	defer client.Close()
	admin := kadm.NewClient(client)
	start, err := admin.ListStartOffsets(t.Context(), "orders")
	require.NoError(t, err)
	require.NoError(t, admin.CommitAllOffsets(t.Context(), "shop", start.Offsets()))
}

// reader does what a reader of the page does.
type reader struct {
	program *program.Program
	leat    string
}

// try runs a command until it prints what it should; one that changes something runs once.
func (r reader) try(t *testing.T, command, want string) {
	t.Helper()
	matches := regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(want), "…", `(?s:.*)`) + `$`)
	looks := strings.Contains(command, "SELECT") || strings.HasPrefix(command, "leat") && !strings.Contains(command, "--reason")
	check := func(c require.TestingT) {
		got, err := r.run(t.Context(), command)
		require.NoError(c, err, "%s\n%s", command, got)
		require.Regexp(c, matches, strings.TrimSpace(got), command)
	}
	switch {
	case strings.HasPrefix(command, "curl"): // until the service listens
		require.EventuallyWithT(t, func(c *assert.CollectT) { check(c) }, patience, 100*time.Millisecond)
	case looks:
		require.EventuallyWithT(t, func(c *assert.CollectT) { check(c) }, patience, 100*time.Millisecond)
	default:
		check(t)
	}
}

var errUnknown = errors.New("the page has a command that its test does not know")

// quoted are the words of a command, with or without quotes.
var quoted = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)

func (r reader) run(ctx context.Context, command string) (string, error) {
	words := quoted.FindAllString(command, -1)
	for i, w := range words {
		words[i] = strings.Trim(w, `'"`)
	}
	last := words[len(words)-1]
	switch words[0] {
	case "curl":
		return post(ctx, "http://"+strings.Replace(last, "localhost:8080", r.program.Listen, 1))
	case "psql":
		rows, err := r.program.DB.Pool.Query(ctx, last)
		if err != nil {
			return "", err
		}
		lines, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) {
			values, err := row.Values()
			return strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", "|"), err
		})
		return strings.Join(lines, "\n"), err
	case "leat":
		cmd := exec.CommandContext(ctx, r.leat, words[1:]...)
		cmd.Env = append(os.Environ(), "LEAT_DATABASE_URL="+r.program.DB.URL)
		out, err := cmd.CombinedOutput()
		return string(out), err
	default:
		return "", fmt.Errorf("%w: %s", errUnknown, command)
	}
}

func post(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}
