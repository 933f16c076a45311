package main_test

import (
	"fmt"
	"net"
	neturl "net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

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

// lint checks a configuration as leat does, in an environment of its own.
func lint(t *testing.T, content string, env ...string) result {
	t.Helper()
	o := newSession(t, "")
	o.env = append([]string{"HOME=" + t.TempDir()}, env...)
	return o.leat("config", "lint", written(t, "leat.yaml", content))
}

// unitValues are those of a field of a unit.
func unitValues(unit, field string) (all []string) {
	for line := range strings.Lines(unit) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), field+"="); ok {
			all = append(all, value)
		}
	}
	return all
}

// The unit and the file that is its leat.yaml fit: what the file refers to is what systemd hands
// on. What is missing would end the daemon with 2, which is not restarted.
func TestDeploy_SystemdFile(t *testing.T) {
	t.Parallel()
	unit, file := deployed(t, "leat.service"), deployed(t, "leat.service.yaml")
	require.Equal(t, []string{"/usr/local/bin/leat run --config /etc/leat/leat.yaml"}, unitValues(unit, "ExecStart"))
	require.Equal(t, []string{"2"}, unitValues(unit, "RestartPreventExitStatus"))
	// Where systemd puts the credentials of the unit that is called so.
	const credentials = "/run/credentials/leat.service/"
	fits := func(unit string) result {
		dir := t.TempDir()
		for _, credential := range unitValues(unit, "LoadCredential") {
			name, from, ok := strings.Cut(credential, ":")
			require.True(t, ok)
			require.Contains(t, file, from, "the file tells of what it needs")
			require.NoError(t, os.WriteFile(dir+"/"+name, []byte("postgres://leat:secret@db/shop\n"), 0o600))
		}
		return lint(t, strings.ReplaceAll(file, credentials, dir+"/"), unitValues(unit, "Environment")...)
	}
	r := fits(unit)
	require.Zero(t, r.code, r.out+r.err)
	for what, without := range map[string]string{
		"no credential":      strings.ReplaceAll(unit, "LoadCredential=", "#"),
		"another credential": strings.ReplaceAll(unit, "LoadCredential=database-url:", "LoadCredential=database:"),
	} {
		r := fits(without)
		require.NotZero(t, r.code, what)
		require.Contains(t, r.out+r.err, "database", what)
	}
	require.NotZero(t, lint(t, deployed(t, "leat.yaml"), unitValues(unit, "Environment")...).code, "the unit sets no variable of the other file")
}

// address is the port of a listener in a configuration.
func address(t *testing.T, content, section string) string {
	t.Helper()
	var file map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(content), &file))
	at, ok := file[section].(map[string]any)
	require.True(t, ok, section)
	_, port, err := net.SplitHostPort(fmt.Sprint(at["listen"]))
	require.NoError(t, err)
	return port
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
	require.NotContains(t, string(out), path, "of units of others it may tell something")
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

// compose has the fields of a compose file that ours use, as the specification has them.
type compose struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Build       map[string]string `yaml:"build"`
		Command     []string          `yaml:"command"`
		ReadOnly    bool              `yaml:"read_only"`
		DependsOn   map[string]any    `yaml:"depends_on"`
		Env         map[string]string `yaml:"environment"`
		Ports       []string          `yaml:"ports"`
		Volumes     []string          `yaml:"volumes"`
		TmpFS       []string          `yaml:"tmpfs"`
		Grace       time.Duration     `yaml:"stop_grace_period"`
		CapDrop     []string          `yaml:"cap_drop"`
		SecurityOpt []string          `yaml:"security_opt"`
		MemLimit    string            `yaml:"mem_limit"`
		ShmSize     string            `yaml:"shm_size"`
		Restart     string            `yaml:"restart"`
		Healthcheck struct {
			Test     []string      `yaml:"test"`
			Interval time.Duration `yaml:"interval"`
			Timeout  time.Duration `yaml:"timeout"`
			Retries  int           `yaml:"retries"`
		} `yaml:"healthcheck"`
	} `yaml:"services"`
}

// composed decodes a compose file. A field that it does not know is an error.
func composed(t *testing.T, content string) (c compose, err error) {
	t.Helper()
	strict := yaml.NewDecoder(strings.NewReader(content))
	strict.KnownFields(true)
	return c, strict.Decode(&c)
}

func (c compose) env(service string) (all []string) {
	for name, value := range c.Services[service].Env {
		all = append(all, name+"="+value)
	}
	return all
}

// The file, and what compose.yaml and the Containerfile run, are what leat takes, and fit: the
// variables are set, and the ports are those on which the daemon listens.
func TestDeploy_Compose(t *testing.T) {
	t.Parallel()
	c, err := composed(t, deployed(t, "compose.yaml"))
	require.NoError(t, err)
	for name, service := range c.Services {
		for other := range service.DependsOn {
			require.Contains(t, c.Services, other, name)
		}
	}
	file, container := deployed(t, "leat.yaml"), deployed(t, "Containerfile")
	r := lint(t, file, c.env("leat")...)
	require.Zero(t, r.code, r.out+r.err)
	r = lint(t, file, "LEAT_DATABASE_URL=postgres://leat@db/shop")
	require.NotZero(t, r.code)
	require.Contains(t, r.out+r.err, "LEAT_KAFKA_BROKERS is not set")

	leat := c.Services["leat"]
	probes, metrics := address(t, file, "http"), address(t, file, "metrics")
	require.Equal(t, []string{"127.0.0.1:" + probes + ":" + probes, "127.0.0.1:" + metrics + ":" + metrics}, leat.Ports)
	require.Contains(t, container, "\nEXPOSE "+probes+" "+metrics+"\n")
	require.Equal(t, []string{"./leat.yaml:/etc/leat/leat.yaml:ro"}, leat.Volumes, "where the image looks for it")
	require.True(t, leat.ReadOnly)
	require.GreaterOrEqual(t, leat.Grace, 15*time.Second, "drain_timeout and 5s")
	url, err := neturl.Parse(leat.Env["LEAT_DATABASE_URL"])
	require.NoError(t, err)
	postgres := c.Services["postgres"].Env
	require.Equal(t, postgres["POSTGRES_USER"]+":"+postgres["POSTGRES_PASSWORD"], url.User.String())
	require.Equal(t, "postgres/"+postgres["POSTGRES_DB"], url.Host+url.Path)
	require.Equal(t, "PLAINTEXT://"+leat.Env["LEAT_KAFKA_BROKERS"], c.Services["kafka"].Env["KAFKA_ADVERTISED_LISTENERS"])

	for _, command := range [][]string{c.Services["migrate"].Command, {"run", "--config", "x"}, {"health", "--live", "--config", "x"}} {
		r := newSession(t, "").leat(append(command, "--help")...)
		require.Zero(t, r.code, r.err)
	}
	require.Contains(t, container, `CMD ["run", "--config", "/etc/leat/leat.yaml"]`)
	require.Contains(t, container, `CMD ["/leat", "health", "--live", "--config", "/etc/leat/leat.yaml"]`)
}

// What does not belong into a compose file is noticed, in that of the repository, too.
func TestDeploy_ComposeFields(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../compose.yaml")
	require.NoError(t, err)
	servers, err := composed(t, string(content))
	require.NoError(t, err)
	for name, service := range servers.Services {
		require.NotEmpty(t, service.Image, name)
		require.NotEmpty(t, service.Healthcheck.Test, "up --wait waits for it: %s", name)
	}
	for wrong, what := range map[string]string{
		"environ: {A: b}": "environ", "ports: {a: b}": "cannot unmarshal", "stop_grace_period: long": "long",
		"healthcheck: {interval: 2s, retry: 3}": "retry", "command: run": "cannot unmarshal",
	} {
		_, err := composed(t, "services: {a: {"+wrong+"}}")
		require.ErrorContains(t, err, what)
	}
}

// A daemon needs no file that it can write, and little memory.
//
//leat:level 4
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
