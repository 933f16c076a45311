package python_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/repo"
)

// daemonFile is the whole configuration that a team without Go needs for its outbox.
const daemonFile = `
database: '%s'
kafka: {brokers: '%s'}
outboxes:
  - name: shop
    relays: [{sink: {kafka: {}}}]
    maintenance: {retention: 24h}
http: {listen: '127.0.0.1:0'}
`

// startDaemon builds the command, and runs `leat run` until the test ends, to relay the outbox of s to
// Kafka.
func (s *shop) startDaemon(brokers []string) {
	t := s.t
	t.Helper()
	dir := t.TempDir()
	root, err := repo.Root(".")
	require.NoError(t, err)
	binary, config := filepath.Join(dir, "leat"), filepath.Join(dir, "leat.yaml")
	build := exec.CommandContext(s.ctx, "go", "build", "-C", filepath.Join(root, "cmd", "leat"), "-ldflags=-s -w", "-o", binary, ".")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, daemonFile, s.db.URL, strings.Join(brokers, ",")), 0o600))
	daemon := exec.Command(binary, "run", "--config", config) // it is to end by SIGTERM
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	daemon.Stdout, daemon.Stderr = log, log
	require.NoError(t, daemon.Start())
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM)
		err := daemon.Wait()
		_ = log.Close()
		text, _ := os.ReadFile(log.Name())
		require.NoError(t, err, "%s", text)
		if t.Failed() {
			t.Logf("leat run:\n%s", text)
		}
	})
}
