package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// program is the README's program with other addresses, under way.
type program struct {
	url string
	log *testenv.Log
	db  *testenv.Database
}

func start(t *testing.T, broker string) *program {
	t.Helper()
	p := &program{log: testenv.NewLog(), db: testenv.Postgres(t)}
	for _, statement := range []string{
		"CREATE TABLE orders (id text PRIMARY KEY)", "CREATE TABLE points (total int)", "INSERT INTO points VALUES (0)",
	} {
		_, err := p.db.Pool.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	listen := free(t)
	p.url = "http://" + listen
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	text := string(source)
	for address, instead := range map[string]string{
		"postgres://localhost/shop": p.db.URL, "localhost:9092": broker, "localhost:8080": listen,
	} {
		require.Contains(t, text, address)
		text = strings.ReplaceAll(text, address, instead)
	}
	dir := t.TempDir()
	own, err := filepath.Abs("main.go")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {own: filepath.Join(dir, "main.go")}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600))
	built, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", filepath.Join(dir, "program"), ".").CombinedOutput()
	require.NoError(t, err, string(built))

	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "program"))
	cmd.Stdout, cmd.Stderr = p.log, p.log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		stop()
		require.Error(t, cmd.Wait(), "it was killed")
	})
	return p
}

// order places an order.
func (p *program) order(t *testing.T, id string) {
	t.Helper()
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/orders/"+id, nil)
		require.NoError(c, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(c, err)
		require.NoError(c, resp.Body.Close())
		require.Equal(c, http.StatusOK, resp.StatusCode)
	}, patience, 50*time.Millisecond, p.log)
}

// TestProgram: orders become points, one each.
func TestProgram(t *testing.T) {
	t.Parallel()
	p := start(t, testenv.PrivateKafka(t).Brokers[0])
	for _, id := range []string{"1", "2", "3"} {
		p.order(t, id)
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		rows, err := p.db.Pool.Query(t.Context(), "SELECT total FROM points")
		require.NoError(c, err)
		total, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[int])
		require.NoError(c, err)
		require.Equal(c, 3, total)
	}, patience, 50*time.Millisecond, p.log)
}

// A3: the program says that its broker is away.
func TestA3_ProgramTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := start(t, free(t))
	p.order(t, "1")
	p.log.Await(t, "WARN", "refused")
}

// free returns an address where nobody listens.
func free(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
