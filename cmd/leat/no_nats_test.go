package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A build without NATS has none of its client in it, and tells whose file names it; all else is as ever.
//
//leat:level 2
func TestBuild_WithoutNATS(t *testing.T) {
	t.Parallel()
	go1 := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Contains(t, go1("list", "-deps", "."), "nats-io")
	require.NotContains(t, go1("list", "-deps", "-tags", "no_nats", "."), "nats-io")
	binary := filepath.Join(t.TempDir(), "leat")
	go1("build", "-tags", "no_nats", "-o", binary, ".")
	const head = "database: postgres://ann@nowhere.invalid/shop\n"
	for sink, want := range map[string]string{
		"nats: {urls: ['nats://n:4222']}": "outboxes[0].relays[0].sink.nats: this leat was built without NATS, with -tags no_nats",
		"redis: {url: 'redis://r'}":       "nothing is wrong",
	} {
		path := written(t, "leat.yaml", head+"outboxes: [{name: shop, relays: [{sink: {"+sink+"}}]}]\n")
		cmd := exec.CommandContext(t.Context(), binary, "config", "lint", path)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		out, _ := cmd.CombinedOutput()
		require.Contains(t, strings.Join(strings.Fields(string(out)), " "), want)
	}
}
