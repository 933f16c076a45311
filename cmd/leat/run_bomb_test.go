package main_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
)

// A daemon refuses at SIGHUP a file whose aliases stand for millions of values, each time, says
// why, and goes on with the file that it has. Its memory stays bounded.
func TestS14_AliasBombAtSIGHUP(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	good := "outboxes: [{name: shop, maintenance: {}}]\nhttp: {listen: '127.0.0.1:0'}\n"
	file := written(t, "leat.yaml", good)
	d := newSession(t, s.URL).begin("run", "--config", file)
	d.is(daemon.StateLeader, "maintenance", "shop", "")
	before := d.peakMiB()
	for i, bomb := range bombs() {
		require.NoError(t, os.WriteFile(file, []byte(bomb), 0o600))
		require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
		d.eventually(fmt.Sprintf("refuses bomb %d", i), func() bool { return strings.Count(d.log.String(), "is too large: it has more than") == i+1 })
	}
	require.Equal(t, len(bombs()), strings.Count(d.log.String(), "not reloaded"), d.log)
	grown := d.peakMiB() - before
	t.Logf("%d MiB, and %d more for the bombs", before, grown)
	require.Less(t, grown, 256)
	d.is(daemon.StateLeader, "maintenance", "shop", "")
	d.answers("/readyz", 200)

	require.NoError(t, os.WriteFile(file, []byte(good+"log: {level: debug}\n"), 0o600))
	require.NoError(t, d.cmd.Process.Signal(syscall.SIGHUP))
	d.eventually("reloads", func() bool { return strings.Contains(d.log.String(), `msg="reloaded`) })
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
}

var peak = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakMiB is the most memory that the process has had at a time.
func (r *running) peakMiB() int {
	r.t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(r.cmd.Process.Pid) + "/status")
	require.NoError(r.t, err)
	found := peak.FindSubmatch(text)
	require.NotNil(r.t, found, string(text))
	kib, err := strconv.Atoi(string(found[1]))
	require.NoError(r.t, err)
	return kib >> 10
}
