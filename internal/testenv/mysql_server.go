package testenv

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// mysqlServer runs MySQL or MariaDB from binaries on this machine.
type mysqlServer struct {
	flavor   mysqlFlavor
	binaries mysqlBinaries
	settings map[string]string
	disk     bool
}

// onDisk reports whether the data must be on a disk. In memory, MariaDB's log buffer would be the file
// itself, so that nothing would ever be lost with the server's process.
func (s mysqlServer) onDisk() bool { return s.disk }

// sharedMySQLSettings returns the settings of a server that many tests share and whose data may be lost:
// it does not wait for the disk, and writes no second log. A killed server loses nothing, since the
// operating system has its writes. Lock waits, isolation and the modes of AUTO_INCREMENT are the server's
// defaults, since tests depend on them.
func sharedMySQLSettings() map[string]string {
	return map[string]string{
		"max-connections":         "1000",
		"innodb-buffer-pool-size": "256M",
		"innodb-flush-method":     "nosync",
		"innodb-doublewrite":      "0",
		"sync-binlog":             "0",
		"skip-log-bin":            "",
		"performance-schema":      "OFF",
	}
}

// privateMySQLSettings returns the settings of a server that one test kills and restarts: it waits for the
// disk as the defaults do. MySQL writes its binary log. MariaDB does not, unless {"log-bin": "binlog"} is
// among extra.
func privateMySQLSettings(extra map[string]string) map[string]string {
	settings := map[string]string{
		"max-connections":         "200",
		"innodb-buffer-pool-size": "64M",
		"performance-schema":      "OFF",
	}
	maps.Copy(settings, extra)

	return settings
}

func (s mysqlServer) plan(dir string, port int) (plan, error) {
	user, err := unprivileged()
	if err != nil {
		return plan{}, err
	}
	data := filepath.Join(dir, "data")
	argv := append(append([]string{}, s.binaries.command...), s.binaries.places()...)
	argv = append(argv, "--datadir="+data, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(port),
		// A socket is not used, since its path would be too long below some temporary directories.
		"--socket=", "--pid-file="+filepath.Join(dir, "pid"), "--secure-file-priv="+dir,
		// At its start a server removes the temporary tables of other servers that use the same directory.
		"--tmpdir="+dir)
	settings := maps.Clone(s.settings)
	maps.Copy(settings, s.flavor.settings)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		argv = append(argv, strings.TrimSuffix("--"+name+"="+settings[name], "="))
	}

	return plan{
		User:    user,
		Env:     []string{"LC_ALL=C", "TZ=UTC"},
		Prepare: s.flavor.initialize(s.binaries, data),
		Argv:    argv,
		Stop:    []stopStep{{Signal: int(syscall.SIGTERM), Wait: 20 * time.Second}},
	}, nil
}

func (s mysqlServer) probe(ctx context.Context, dir string, port int) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialMySQL(ctx, localAddress(port))
	if err != nil {
		return "", err
	}
	defer conn.close()
	if err := conn.login("root"); err != nil {
		return "", err
	}
	data, err := conn.value("SELECT @@datadir")
	if err != nil {
		return "", err
	}
	if filepath.Base(filepath.Dir(filepath.Clean(data))) != filepath.Base(dir) { // the rest may be a symbolic link
		return "", errNotOurs
	}

	return plainMySQLVersion(conn.version), nil
}

// mysqlURL returns the address of one of our servers.
func mysqlURL(port int) string { return "mysql://root@" + localAddress(port) + "/" }

// start runs a server of the programs that binaries returns. Its data is on disk if disk is true, for a
// server that will be killed.
func (f mysqlFlavor) start(ctx context.Context, settings map[string]string, disk bool) (Service, *server, error) {
	b, err := f.binaries(ctx)
	if err != nil {
		return Service{}, nil, fmt.Errorf("%w\nset %s to the address of a server, such as mysql://root@127.0.0.1:3306/", err, f.env)
	}
	s, err := serve(ctx, string(f.kind), mysqlServer{flavor: f, binaries: b, settings: settings, disk: disk})
	if err != nil {
		return Service{}, nil, err
	}

	return Service{
		Kind:    f.kind,
		Address: mysqlURL(s.port),
		Version: s.version,
		Origin:  "started from " + b.origin,
		Real:    true,
		stop:    s.close,
	}, s, nil
}

// mysqlBinaries is a server that can be started.
type mysqlBinaries struct {
	// command is the command that runs the server, without its arguments.
	command []string
	// prefix is the directory that has share/mysql, and lib/mysql/plugin, in it.
	prefix string
	origin string
}

// share returns the directory of messages, character sets and scripts.
func (b mysqlBinaries) share() string { return filepath.Join(b.prefix, "share", "mysql") }

// places returns the arguments that give the server the paths of its files. Otherwise an unpacked server
// would look for them below /usr.
func (b mysqlBinaries) places() []string {
	return []string{
		"--no-defaults", "--basedir=" + b.prefix,
		"--lc-messages-dir=" + b.share(),
		"--character-sets-dir=" + filepath.Join(b.share(), "charsets"),
		"--plugin-dir=" + filepath.Join(b.prefix, "lib", "mysql", "plugin"),
	}
}

// binaries returns an installed server, or else the one that Debian packages.
func (f mysqlFlavor) binaries(ctx context.Context) (mysqlBinaries, error) {
	if b, ok := f.installed(ctx); ok {
		return b, nil
	}
	u, err := f.fetched.fetch(ctx)
	if err != nil {
		return mysqlBinaries{}, err
	}
	command, err := u.command(filepath.Join("usr", "sbin", f.programs[0]))
	if err != nil {
		return mysqlBinaries{}, err
	}

	return mysqlBinaries{
		command: command,
		prefix:  filepath.Join(u.root, "usr"),
		origin:  "Debian's " + f.fetched.name + " " + u.version + " (" + f.fetched.suite + "), unpacked",
	}, nil
}

// installed looks for a server on this machine, in PATH and where distributions install it.
func (f mysqlFlavor) installed(ctx context.Context) (mysqlBinaries, bool) {
	for _, program := range f.programs {
		for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/usr/local/sbin") {
			path := filepath.Join(dir, program)
			if f.usable(ctx, path) {
				return mysqlBinaries{command: []string{path}, prefix: filepath.Dir(filepath.Dir(path)), origin: path}, true
			}
		}
	}

	return mysqlBinaries{}, false
}

// usable reports whether a program is a server of this family. It is needed since MariaDB's server can be
// called mysqld, too.
func (f mysqlFlavor) usable(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	version, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()

	return err == nil && isMariaDB(string(version)) == (f.kind == KindMariaDB)
}

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// initializeMySQL returns the command that makes the server create its own tables, and root without a
// password.
func initializeMySQL(b mysqlBinaries, data string) [][]string {
	argv := append(append([]string{}, b.command...), b.places()...)

	return [][]string{append(argv, "--datadir="+data, "--tmpdir="+filepath.Dir(data), "--initialize-insecure", "--innodb-flush-method=nosync", "--skip-log-bin")}
}

// initializeMariaDB returns the commands that feed the server the statements of mariadb-install-db. That
// script itself needs a program of another package.
func initializeMariaDB(b mysqlBinaries, data string) [][]string {
	script := fmt.Sprintf(`mkdir %q; (echo 'CREATE DATABASE mysql;'; echo 'USE mysql;'; echo 'SET @auth_root_socket=NULL;'; `+
		`cat %[2]q/mysql_system_tables.sql %[2]q/mysql_performance_tables.sql %[2]q/mysql_system_tables_data.sql) | "$@"`,
		data, b.share())
	argv := append([]string{"sh", "-e", "-c", script, "sh"}, b.command...)

	return [][]string{append(append(argv, b.places()...), "--bootstrap", "--datadir="+data, "--tmpdir="+filepath.Dir(data), "--innodb-flush-method=nosync")}
}
