package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/leat-go/leat/internal/testenv"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("deploy/" + name)
	require.NoError(t, err)
	return string(content)
}

// lints checks a configuration as leat does.
func lints(t *testing.T, content string) {
	t.Helper()
	o := newSession(t, "postgres://leat@db/shop")
	o.env = append(o.env, "LEAT_KAFKA_BROKERS=k1:9092")
	r := o.leat("config", "lint", written(t, "leat.yaml", content))
	require.Zero(t, r.code, r.out+r.err)
}

// systemd accepts the unit, and the unit confines the daemon.
func TestDeploy_Systemd(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	needs(t, err, "systemd-analyze")
	unit := deployed(t, "leat.service")
	require.Contains(t, unit, "\nEnvironment=GOTRACEBACK=crash\n", "a panic must not look like a wrong file, status 2")
	path := written(t, "leat.service", strings.ReplaceAll(unit, "/usr/local/bin/leat", os.Getenv(binaryVariable)))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, string(out))
	broken := written(t, "leat.service", strings.ReplaceAll(unit, "WatchdogSec=30", "WatchdogSecs=30"))
	out, _ = exec.CommandContext(t.Context(), analyze, "verify", "--man=no", broken).CombinedOutput()
	require.Contains(t, string(out), "WatchdogSecs", "what does not belong is noticed")

	out, err = exec.CommandContext(t.Context(), analyze, "security", "--offline=true", path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	match := regexp.MustCompile(`Overall exposure level for leat\.service: ([0-9.]+)`).FindStringSubmatch(string(out))
	require.NotNil(t, match, "%s", out)
	exposure, err := strconv.ParseFloat(match[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, exposure, 1.5)
}

// The file, and what compose.yaml and the Containerfile run, are what leat takes.
func TestDeploy_Compose(t *testing.T) {
	t.Parallel()
	lints(t, deployed(t, "leat.yaml"))
	var compose struct {
		Services map[string]struct {
			Command   []string
			ReadOnly  bool              `yaml:"read_only"`
			DependsOn map[string]any    `yaml:"depends_on"`
			Env       map[string]string `yaml:"environment"`
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &compose))
	for name, service := range compose.Services {
		for other := range service.DependsOn {
			require.Contains(t, compose.Services, other, name)
		}
	}
	require.True(t, compose.Services["leat"].ReadOnly)
	container := deployed(t, "Containerfile")
	for _, command := range [][]string{compose.Services["migrate"].Command, {"run", "--config", "x"}, {"health", "--live", "--config", "x"}} {
		r := newSession(t, "").leat(append(command, "--help")...)
		require.Zero(t, r.code, r.err)
	}
	require.Contains(t, container, `CMD ["run", "--config", "/etc/leat/leat.yaml"]`)
	require.Contains(t, container, `CMD ["/leat", "health", "--live", "--config", "/etc/leat/leat.yaml"]`)
}

// A daemon needs no file that it can write, and little memory.
func TestDeploy_Confined(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"unshare", "prlimit"} {
		_, err := exec.LookPath(tool)
		needs(t, err, tool)
	}
	s := newDaemonShop(t, testenv.Kafka(t))
	const script = `mount --make-rprivate / && mount -o remount,bind,ro / && ! touch /leat-can-write 2>/dev/null && exec prlimit --data=268435456 "$@"`
	if out, err := exec.CommandContext(t.Context(), "unshare", "-m", "sh", "-c", script, "sh", "true").CombinedOutput(); err != nil {
		needs(t, err, "the right to mount: "+string(out))
	}
	s.session.env = append(s.session.env, "GOMEMLIMIT=230MiB", "PATH="+os.Getenv("PATH"))
	d := s.session.beginAs([]string{"unshare", "-m", "sh", "-c", script, "sh", os.Getenv(binaryVariable)}, "run", "--config", s.config)
	d.answers("/readyz", 200)
	payload := strings.Repeat("x", 100_000)
	for i := range 600 { // 60 MB
		s.enqueue(t, placed(fmt.Sprintf("m-%d", i), s.orders, "k-"+itoa(i), payload))
	}
	s.arrived(t, s.orders, []string{"m"}, 600)
	require.Zero(t, d.ends(syscall.SIGTERM), d.log)
}

// needs skips the test if err is not nil, and fails it in CI.
func needs(t *testing.T, err error, what string) {
	t.Helper()
	if err != nil {
		testenv.Available(t, fmt.Errorf("%w: %s: %w", testenv.ErrUnavailable, what, err))
	}
}
