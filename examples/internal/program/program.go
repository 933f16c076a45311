// Package program runs a program of the documentation unchanged, with a test's own addresses.
package program

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/testenv"
)

// Program is a running program.
type Program struct {
	// Listen is its host:port, instead of localhost:8080.
	Listen string
	// DB is its database, instead of postgres://localhost/shop.
	DB *testenv.Database
	// Log has its output.
	Log *testenv.Log

	binary string
	cmd    *exec.Cmd
}

// Start builds main.go of the working directory and starts it, on its own database in which setup
// was run, and with the given broker instead of localhost:9092. It is killed when the test ends.
func Start(t *testing.T, broker, setup string) *Program {
	t.Helper()
	p := &Program{Listen: Free(t), DB: testenv.Postgres(t), Log: testenv.NewLog()}
	_, err := p.DB.Pool.Exec(t.Context(), setup)
	require.NoError(t, err)
	p.binary = p.build(t, broker)
	p.Run(t)
	t.Cleanup(func() {
		require.NoError(t, p.cmd.Process.Kill())
		require.Error(t, p.cmd.Wait(), "it was killed")
	})
	return p
}

// Run starts the program again after Interrupt.
func (p *Program) Run(t *testing.T) {
	t.Helper()
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), p.binary) //nolint:gosec // it was built here
	p.cmd.Stdout, p.cmd.Stderr = p.Log, p.Log
	require.NoError(t, p.cmd.Start())
}

// Interrupt sends Ctrl-C, after which the program must end without an error.
func (p *Program) Interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(os.Interrupt))
	require.NoError(t, p.cmd.Wait())
}

func (p *Program) build(t *testing.T, broker string) (binary string) {
	t.Helper()
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	text := string(source)
	for address, instead := range map[string]string{
		"postgres://localhost/shop": p.DB.URL, "localhost:9092": broker, "localhost:8080": p.Listen,
	} {
		require.Contains(t, text, address)
		text = strings.ReplaceAll(text, address, instead)
	}
	own, err := filepath.Abs("main.go")
	require.NoError(t, err)
	dir := t.TempDir()
	main, overlay, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {own: main}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(main, []byte(text), 0o600)) //nolint:gosec // of the test
	require.NoError(t, os.WriteFile(overlay, replaced, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", binary, ".").CombinedOutput() //nolint:gosec // of the test
	require.NoError(t, err, string(out))
	return binary
}

// Free returns an address on which no process listens.
func Free(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
