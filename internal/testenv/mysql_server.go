package testenv

import (
	"context"
	"fmt"
	"maps"
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

// onDisk: of a log in memory, MariaDB's buffer is the file itself, so that nothing is ever
// lost with the server's process.
func (s mysqlServer) onDisk() bool { return s.disk }

// sharedMySQLSettings suit a server that many tests share and nobody keeps: it does
// not wait for the disk, and writes no second log. A killed server loses nothing, as
// the operating system has what it wrote. Lock waits, isolation and the modes of
// AUTO_INCREMENT are the server's defaults: tests are about them.
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

// privateMySQLSettings suit a server that one test kills and restarts: it waits for
// the disk as the defaults do. MySQL writes its binary log, MariaDB does not unless
// {"log-bin": "binlog"} is among extra.
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
		// No socket: its path would be too long below some temporary directories.
		"--socket=", "--pid-file="+filepath.Join(dir, "pid"), "--secure-file-priv="+dir,
		// A server that starts removes the temporary tables of others that use the same directory.
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

// mysqlURL is the address of a server of ours.
func mysqlURL(port int) string { return "mysql://root@" + localAddress(port) + "/" }

// start runs a server from the binaries that binaries finds.
// On a disk, if the server is to be killed.
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
