package testenv

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// rabbitServer runs RabbitMQ from the scripts on this machine, as a separate node with its own
// name, directory and Erlang port mapper.
type rabbitServer struct {
	scripts string // directory of rabbitmq-server and rabbitmqctl
	conf    string // lines that override ours

	management int
	mapper     int
	dist       int
}

// The files in the server's directory.
const (
	rabbitConf    = "rabbitmq.conf"
	rabbitPlugins = "enabled_plugins"
)

// newRabbitServer chooses the ports that a node has in addition to the AMQP port.
func newRabbitServer(scripts, conf string) (s rabbitServer, err error) {
	s = rabbitServer{scripts: scripts, conf: conf}
	for _, port := range []*int{&s.management, &s.mapper, &s.dist} {
		if *port, err = freePort(); err != nil {
			return s, err
		}
	}

	return s, nil
}

func (s rabbitServer) plan(dir string, port int) (plan, error) {
	conf := fmt.Sprintf(`listeners.tcp.1 = 127.0.0.1:%d
management.tcp.ip = 127.0.0.1
management.tcp.port = %d
management.disable_stats = true
log.console = true
log.console.level = warning
log.file = false
disk_free_limit.absolute = 50MB
vm_memory_high_watermark.absolute = 1GB
%s
`, port, s.management, s.conf)

	return plan{
		// The cookie is written here, since two processes of the script would otherwise race to create it,
		// and one reads it before it is private.
		Files: map[string]string{rabbitConf: conf, rabbitPlugins: "[rabbitmq_management].\n", ".erlang.cookie": rand.Text()},
		Argv:  []string{filepath.Join(s.scripts, "rabbitmq-server")},
		Env:   s.env(dir),
		// The virtual machine is the leader of its process group: it shuts down cleanly at SIGTERM.
		Stop:   []stopStep{{Signal: int(syscall.SIGTERM), Wait: 15 * time.Second}},
		Finish: [][]string{{"epmd", "-port", strconv.Itoa(s.mapper), "-kill"}},
	}, nil
}

// env returns the environment of the node and of rabbitmqctl.
func (s rabbitServer) env(dir string) []string {
	in := func(name string) string { return filepath.Join(dir, name) }

	return []string{
		"HOME=" + dir, // the cookie is there
		"RABBITMQ_NODENAME=" + nodeOf(dir),
		"RABBITMQ_CONF_ENV_FILE=" + in("none"),
		"RABBITMQ_CONFIG_FILE=" + in(rabbitConf),
		"RABBITMQ_ENABLED_PLUGINS_FILE=" + in(rabbitPlugins),
		"RABBITMQ_MNESIA_BASE=" + in("mnesia"),
		"RABBITMQ_LOG_BASE=" + in("log"),
		"RABBITMQ_GENERATED_CONFIG_DIR=" + in("config"),
		"RABBITMQ_PID_FILE=" + in("pid"),
		"RABBITMQ_DIST_PORT=" + strconv.Itoa(s.dist),
		"ERL_EPMD_PORT=" + strconv.Itoa(s.mapper),
		"ERL_EPMD_ADDRESS=127.0.0.1",
		// Its threads do not spin while they wait for work: tests share the machine.
		"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=+sbwt none +sbwtdcpu none +sbwtdio none",
		// This makes the script become the virtual machine instead of its parent.
		"detached=1",
	}
}

// nodeOf returns the name of the node in a directory.
func nodeOf(dir string) string { return filepath.Base(dir) + "@localhost" }

func (s rabbitServer) probe(ctx context.Context, dir string, port int) (string, error) {
	version, cluster, err := inspectRabbit(ctx, localAddress(port))
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(cluster, filepath.Base(dir)+"@") {
		return "", errNotOurs
	}
	api := rabbitAPI{base: "http://" + localAddress(s.management), user: url.UserPassword("guest", "guest")}

	return version, api.do(ctx, http.MethodGet, "/vhosts/%2F", "")
}

// control runs rabbitmqctl on the node in dir.
func (s rabbitServer) control(ctx context.Context, dir string, args ...string) error {
	args = append([]string{"-n", nodeOf(dir)}, args...)
	cmd := exec.CommandContext(ctx, filepath.Join(s.scripts, "rabbitmqctl"), args...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), s.env(dir)...)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("testenv: rabbitmqctl %v: %w\n%s", args, err, output)
	}

	return nil
}

// startRabbit runs a node. conf has lines to add to rabbitmq.conf. RabbitMQ is installed first if it is
// missing and that is possible.
func startRabbit(ctx context.Context, conf string) (Service, *server, error) {
	scripts, origin, err := findRabbit(ctx)
	if err != nil {
		return Service{}, nil, err
	}
	kind, err := newRabbitServer(scripts, conf)
	if err != nil {
		return Service{}, nil, err
	}
	s, err := serve(ctx, "rabbit", kind)
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    KindRabbit,
		Address: fmt.Sprintf("amqp://guest:guest@%s/?management=%d", s.address(), kind.management),
		Version: s.version,
		Origin:  "started from " + origin,
		Real:    true,
		stop:    s.close,
	}, s, nil
}

func findRabbit(ctx context.Context) (scripts, origin string, err error) {
	if scripts, err := localRabbit(); err == nil || !mayInstall() {
		return scripts, scripts, err
	}
	if err := install(ctx, "rabbitmq-server"); err != nil {
		return "", "", err
	}
	scripts, err = localRabbit()

	return scripts, scripts + ", installed by this run", err
}

// localRabbit looks for the scripts themselves, since Debian's wrappers in PATH switch to the account of
// the system's own node.
func localRabbit() (string, error) {
	var errs []error
	for _, name := range []string{"/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"} {
		path, err := exec.LookPath(name)
		if err == nil {
			return filepath.Dir(path), nil
		}
		errs = append(errs, err)
	}

	return "", fmt.Errorf("%w: %w", ErrUnavailable, errors.Join(errs...))
}

// errRabbitReply is returned if a reply does not come from a broker, or is an error.
var errRabbitReply = errors.New("testenv: reply of RabbitMQ")

// inspectRabbit starts a handshake and returns the broker's version and the name of its cluster, which are
// in its first frame. This package does not use a client library, since the demo links it.
func inspectRabbit(ctx context.Context, address string) (version, cluster string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(connectTimeout))
	if _, err := io.WriteString(conn, "AMQP\x00\x00\x09\x01"); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	var head [7]byte // type, channel, size
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}
	const most = 64 << 10
	size := binary.BigEndian.Uint32(head[3:])
	if head[0] != 1 || size > most {
		return "", "", fmt.Errorf("%w: %q is not the start of a connection", errRabbitReply, head)
	}
	start := make([]byte, size)
	if _, err := io.ReadFull(conn, start); err != nil {
		return "", "", fmt.Errorf("testenv: RabbitMQ at %s: %w", address, err)
	}

	return longString(start, "version"), longString(start, "cluster_name"), nil
}

// longString returns the text called name in an encoded table, or "".
func longString(table []byte, name string) string {
	_, after, ok := strings.Cut(string(table), string(rune(len(name)))+name+"S")
	if !ok || len(after) < 4 {
		return ""
	}
	n := binary.BigEndian.Uint32([]byte(after[:4]))

	return after[4:min(len(after), 4+int(n))]
}

// rabbitAPI is the broker's management API over HTTP.
type rabbitAPI struct {
	base string
	user *url.Userinfo
}

// rabbitAPIOf returns the management API of the broker at address. Its port is in the address's parameter
// management, or else the default.
func rabbitAPIOf(address string) (rabbitAPI, *url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return rabbitAPI{}, nil, fmt.Errorf("testenv: %s: %w", redact(address), err)
	}
	port := u.Query().Get("management")
	if port == "" {
		port = "15672"
	}
	user := u.User
	if user == nil {
		user = url.UserPassword("guest", "guest")
	}

	return rabbitAPI{base: "http://" + net.JoinHostPort(u.Hostname(), port), user: user}, u, nil
}

// do sends a request, and returns an error unless it succeeds.
func (a rabbitAPI) do(ctx context.Context, method, path, body string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.base+"/api"+path, strings.NewReader(body))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	password, _ := a.user.Password()
	request.SetBasicAuth(a.user.Username(), password)
	request.Header.Set("Content-Type", "application/json")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("testenv: RabbitMQ's management: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))

		return fmt.Errorf("%w: %s %s: %s: %s", errRabbitReply, method, path, response.Status, text)
	}

	return nil
}
