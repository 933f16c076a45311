package testenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mysqlBinaries is a server that can be started.
type mysqlBinaries struct {
	// command is what runs the server, without its arguments.
	command []string
	// prefix is the directory that has share/mysql, and lib/mysql/plugin, in it.
	prefix string
	origin string
}

// share is the directory of messages, character sets and scripts.
func (b mysqlBinaries) share() string { return filepath.Join(b.prefix, "share", "mysql") }

// places are the arguments that tell the server where its files are: what was
// unpacked looks for them below /usr.
func (b mysqlBinaries) places() []string {
	return []string{
		"--no-defaults", "--basedir=" + b.prefix,
		"--lc-messages-dir=" + b.share(),
		"--character-sets-dir=" + filepath.Join(b.share(), "charsets"),
		"--plugin-dir=" + filepath.Join(b.prefix, "lib", "mysql", "plugin"),
	}
}

// binaries returns a server that is installed, else the one that Debian has.
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

// installed looks for a server on this machine, in PATH and where the packages of
// distributions put it.
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

// usable reports whether a program is a server of this family: mysqld is a name that
// MariaDB's server has, too.
func (f mysqlFlavor) usable(ctx context.Context, path string) bool {
	if _, err := os.Stat(path); err != nil {
		return false
	}
	version, err := exec.CommandContext(ctx, path, "--no-defaults", "--version").Output()

	return err == nil && isMariaDB(string(version)) == (f.kind == KindMariaDB)
}

func isMariaDB(version string) bool { return strings.Contains(version, "MariaDB") }

// initializeMySQL has the server make its own tables, and root without a password.
func initializeMySQL(b mysqlBinaries, data string) [][]string {
	argv := append(append([]string{}, b.command...), b.places()...)

	return [][]string{append(argv, "--datadir="+data, "--tmpdir="+filepath.Dir(data), "--initialize-insecure", "--innodb-flush-method=nosync", "--skip-log-bin")}
}

// initializeMariaDB feeds the server the statements that mariadb-install-db feeds it.
// That script itself wants a program of another package.
func initializeMariaDB(b mysqlBinaries, data string) [][]string {
	script := fmt.Sprintf(`mkdir %q; (echo 'CREATE DATABASE mysql;'; echo 'USE mysql;'; echo 'SET @auth_root_socket=NULL;'; `+
		`cat %[2]q/mysql_system_tables.sql %[2]q/mysql_performance_tables.sql %[2]q/mysql_system_tables_data.sql) | "$@"`,
		data, b.share())
	argv := append([]string{"sh", "-e", "-c", script, "sh"}, b.command...)

	return [][]string{append(append(argv, b.places()...), "--bootstrap", "--datadir="+data, "--tmpdir="+filepath.Dir(data), "--innodb-flush-method=nosync")}
}
