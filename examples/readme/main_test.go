package main

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/examples/internal/program"
	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 4
func TestMain(m *testing.M) { testenv.Main(m) }

// patience bounds the wait for something that must happen.
const patience = time.Minute

// TestREADME: the README has the program as it stands, of at most 45 lines of 110 columns.
//
//leat:level 0
func TestREADME(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	require.Contains(t, string(readme), "```go\n"+string(source)+"```\n")
	lines := strings.Split(strings.TrimSpace(string(source)), "\n")
	require.LessOrEqual(t, len(lines), 45)
	for _, line := range lines {
		require.LessOrEqual(t, len(strings.ReplaceAll(line, "\t", "    ")), 110, line)
	}
}

func start(t *testing.T, broker string) *program.Program {
	t.Helper()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, setup, found := strings.Cut(string(readme), "psql shop -c '")
	require.True(t, found)
	setup, _, _ = strings.Cut(setup, "'\n")
	return program.Start(t, broker, setup)
}

// order places an order, as soon as the program listens: the first one must not come too early.
func order(t *testing.T, p *program.Program, id string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.Listen+"/orders/"+id, nil)
	require.NoError(t, err)
	var resp *http.Response
	require.Eventually(t, func() bool {
		resp, err = http.DefaultClient.Do(req) //nolint:bodyclose // closed below
		return !errors.Is(err, syscall.ECONNREFUSED)
	}, patience, time.Millisecond)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// TestProgram: orders become points, one each.
func TestProgram(t *testing.T) {
	t.Parallel()
	p := start(t, testenv.PrivateKafka(t).Brokers[0])
	for _, id := range []string{"1", "2", "3"} {
		order(t, p, id)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		rows, err := p.DB.Pool.Query(t.Context(), "SELECT total FROM points")
		require.NoError(c, err)
		total, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
		require.NoError(c, err)
		require.Equal(c, 3, total)
	}, patience, 50*time.Millisecond)
}

// A3: the program says that its broker is unavailable.
func TestA3_ProgramTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := start(t, program.Free(t))
	order(t, p, "1")
	p.Log.Await(t, "WARN", "refused")
}
