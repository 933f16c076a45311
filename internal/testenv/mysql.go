package testenv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mysqlFlavor is one of the two families of servers that speak MySQL's protocol.
type mysqlFlavor struct {
	kind Kind
	// name is the name of the family.
	name string
	// env is the environment variable that contains an address.
	env string
	// fetched is the package to download if no server is installed.
	fetched debianPackage
	// programs are the names of the server program, in order of preference.
	programs []string
	// initialize returns the commands that fill a data directory.
	initialize func(b mysqlBinaries, data string) [][]string
	// settings are the family's settings in addition to the common settings.
	settings map[string]string
}

// flavorOf returns the family of a kind.
func flavorOf(kind Kind) mysqlFlavor {
	if kind == KindMariaDB {
		return mariadb()
	}

	return mysql()
}

func mysql() mysqlFlavor {
	return mysqlFlavor{
		kind: KindMySQL,
		name: "MySQL",
		env:  EnvMySQL,
		// Stable releases of Debian have no MySQL.
		fetched:    debianPackage{suite: "sid", name: "mysql-server-core"},
		programs:   []string{"mysqld"},
		initialize: initializeMySQL,
		settings:   map[string]string{"mysqlx": "0"},
	}
}

func mariadb() mysqlFlavor {
	return mysqlFlavor{
		kind:       KindMariaDB,
		name:       "MariaDB",
		env:        EnvMariaDB,
		fetched:    debianPackage{suite: "bookworm", name: "mariadb-server-core"},
		programs:   []string{"mariadbd", "mysqld"},
		initialize: initializeMariaDB,
	}
}

// MySQLServer is a server that tests share. Each test creates its own databases on it, whose names
// start with [DatabasePrefix], and drops them.
type MySQLServer struct {
	// URL is its address, such as mysql://root@127.0.0.1:3306/.
	URL string
	// Version is the version that the server reports, such as "9.7.4".
	Version string
}

// DatabasePrefix is the prefix of the names of databases that tests create.
const DatabasePrefix = databasePrefix

// MySQL returns the shared server. If there is none the test is skipped; in CI it fails.
func MySQL(tb testing.TB) MySQLServer {
	tb.Helper()

	return useMySQL(tb, KindMySQL)
}

// MariaDB is [MySQL] for MariaDB.
func MariaDB(tb testing.TB) MySQLServer {
	tb.Helper()

	return useMySQL(tb, KindMariaDB)
}

func useMySQL(tb testing.TB, kind Kind) MySQLServer {
	tb.Helper()
	if _, err := shared.service(context.Background(), kind); errors.Is(err, ErrUnavailable) {
		Available(tb, err)
	}
	service := use(tb, kind)

	return MySQLServer{URL: service.Address, Version: service.Version}
}

// NewDatabaseName returns a name for a database that no other test has.
func NewDatabaseName(hint string) string { return newDatabaseName(hint) }

// resolveMySQL tries the sources of a server of the family in order.
func resolveMySQL(ctx context.Context, f mysqlFlavor) (Service, error) {
	if address := os.Getenv(f.env); address != "" {
		s, err := f.at(ctx, address, "address in "+f.env)
		if err != nil {
			return Service{}, fmt.Errorf("%s: %w", f.env, err)
		}

		return s, nil
	}
	if s, ok := f.running(ctx); ok {
		return s, nil
	}
	s, _, err := f.start(ctx, sharedMySQLSettings(), false)

	return s, err
}

// running uses the detached set, or a server on the standard port of this machine that accepts our
// login.
func (f mysqlFlavor) running(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, f.kind); ok {
		if s, err := f.at(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	s, err := f.at(ctx, "mysql://root@127.0.0.1:3306/", "already running on the standard port")

	return s, err == nil
}

// at describes the server at an address. It does not check the password: tests have a driver for
// that.
func (f mysqlFlavor) at(ctx context.Context, address, origin string) (Service, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "mysql" || u.User == nil || u.Port() == "" {
		return Service{}, fmt.Errorf("testenv: %q is not mysql://user:password@host:port/", redact(address))
	}
	version, err := f.inspect(ctx, u)
	if err != nil {
		return Service{}, fmt.Errorf("testenv: %s at %s: %w", f.name, redact(address), err)
	}

	return Service{Kind: f.kind, Address: address, Version: version, Origin: origin, Real: true}, nil
}

func (f mysqlFlavor) inspect(ctx context.Context, u *url.URL) (version string, err error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialMySQL(ctx, net.JoinHostPort(u.Hostname(), u.Port()))
	if err != nil {
		return "", err
	}
	defer conn.close()
	if isMariaDB(conn.version) != (f.kind == KindMariaDB) {
		return "", fmt.Errorf("%w: the server is %q", ErrUnavailable, conn.version)
	}
	if _, secret := u.User.Password(); !secret {
		err = conn.login(u.User.Username())
	}

	return plainMySQLVersion(conn.version), err
}

// PrivateMySQLServer is a real MySQL or MariaDB that only one test uses, which can kill and restart it. It
// is removed when the test ends. Its methods fail the test on errors, so call them from the test's
// goroutine.
type PrivateMySQLServer struct {
	private

	MySQLServer
}

// PrivateMySQL starts a server for the test alone, with settings such as {"skip-log-bin": ""}. It takes
// some ten seconds. If there is no MySQL the test is skipped; in CI it fails.
func PrivateMySQL(tb testing.TB, settings map[string]string) *PrivateMySQLServer {
	tb.Helper()

	return privateMySQL(tb, "MySQL", OwnMySQL, settings)
}

// PrivateMariaDB is [PrivateMySQL] for MariaDB, with settings such as {"log-bin": "binlog", "sync-binlog":
// "1"}.
func PrivateMariaDB(tb testing.TB, settings map[string]string) *PrivateMySQLServer {
	tb.Helper()

	return privateMySQL(tb, "MariaDB", OwnMariaDB, settings)
}

// Galera returns the value of the setting "wsrep-provider" that makes a server of [PrivateMariaDB] a node
// of a cluster. If the provider cannot be downloaded the test is skipped; in CI it fails.
func Galera(tb testing.TB) (provider string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	u, err := debianPackage{suite: "bookworm", name: "galera-4"}.fetch(ctx)
	Available(tb, err)

	return filepath.Join(u.root, "usr", "lib", "galera", "libgalera_smm.so")
}

func privateMySQL(
	tb testing.TB, name string, start func(context.Context, map[string]string) (*Own, error), settings map[string]string,
) *PrivateMySQLServer {
	tb.Helper()
	s := startPrivate(tb, name, func(ctx context.Context) (*Own, error) { return start(ctx, settings) })

	return &PrivateMySQLServer{private: s, MySQLServer: MySQLServer{URL: s.own.Address, Version: s.own.Version}}
}

// Kill ends the server with SIGKILL and waits until it has exited.
func (s *PrivateMySQLServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

// Stop asks the server to stop and waits until it has exited.
func (s *PrivateMySQLServer) Stop() {
	s.tb.Helper()
	s.end(syscall.SIGTERM)
}

// OwnMySQL starts MySQL with settings such as {"skip-log-bin": ""}.
func OwnMySQL(ctx context.Context, settings map[string]string) (*Own, error) {
	return ownMySQL(ctx, mysql(), settings)
}

// OwnMariaDB starts MariaDB with settings such as {"log-bin": "binlog"}.
func OwnMariaDB(ctx context.Context, settings map[string]string) (*Own, error) {
	return ownMySQL(ctx, mariadb(), settings)
}

func ownMySQL(ctx context.Context, f mysqlFlavor, settings map[string]string) (*Own, error) {
	service, s, err := f.start(ctx, privateMySQLSettings(settings), true)
	if err != nil {
		return nil, err
	}

	return newOwn(service, s), nil
}

// mysqlConn is a minimal client that checks that a server answers, and that it is ours. Tests have a
// driver, but this module does not require one.
type mysqlConn struct {
	conn     net.Conn
	in       *bufio.Reader
	sequence byte
	// version is the version in the server's greeting, such as "5.5.5-10.11.18-MariaDB-0+deb12u1".
	version string
}

// errMySQL is returned for an error from the server, and for an answer that this client does not
// understand.
var errMySQL = errors.New("testenv: MySQL protocol")

// dialMySQL connects and waits for the greeting.
func dialMySQL(ctx context.Context, address string) (*mysqlConn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(connectTimeout)
	}
	_ = conn.SetDeadline(deadline)
	c := &mysqlConn{conn: conn, in: bufio.NewReader(conn)}
	greeting, err := c.read()
	if err == nil && greeting[0] != 10 { // the version of the protocol
		err = fmt.Errorf("%w: greeting %q", errMySQL, greeting)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	version, _, _ := bytes.Cut(greeting[1:], []byte{0})
	c.version = string(version)

	return c, nil
}

func (c *mysqlConn) close() { _ = c.conn.Close() }

// login logs a user without a password in.
func (c *mysqlConn) login(user string) error {
	const capabilities = 0x1 | 0x200 | 0x8000 | 0x80000 // long password, protocol 4.1, its passwords, plugins of authentication

	b := binary.LittleEndian.AppendUint32(nil, capabilities)
	b = binary.LittleEndian.AppendUint32(b, 1<<24-1)
	b = append(append(b, 45), make([]byte, 23)...)       // utf8mb4, reserved
	b = append(append(b, user...), 0, 0)                 // an empty password
	b = append(append(b, "mysql_native_password"...), 0) // the server may ask for another method
	if err := c.write(b); err != nil {
		return err
	}
	for {
		answer, err := c.read()
		switch {
		case err != nil:
			return fmt.Errorf("log in as %s: %w", user, err)
		case answer[0] == 0:
			return nil
		case answer[0] == 0xfe: // the server asks for another method, with which an empty password is empty, too
			err = c.write(nil)
		case answer[0] != 1: // 1 announces more data
			err = fmt.Errorf("%w: answer %q to a login", errMySQL, answer)
		}
		if err != nil {
			return err
		}
	}
}

// do runs a statement that has no rows.
func (c *mysqlConn) do(statement string) error {
	c.sequence = 0
	if err := c.write(append([]byte{3}, statement...)); err != nil {
		return err
	}
	if _, err := c.read(); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}

	return nil
}

// value returns the only value of a query, which must be shorter than 251 bytes.
func (c *mysqlConn) value(query string) (string, error) {
	c.sequence = 0
	if err := c.write(append([]byte{3}, query...)); err != nil {
		return "", err
	}
	var row []byte
	for i := range 5 { // number of columns, the column, end of columns, the row, end of rows
		packet, err := c.read()
		if err != nil {
			return "", fmt.Errorf("%s: %w", query, err)
		}
		if i == 3 {
			row = packet
		}
	}
	if len(row) != int(row[0])+1 {
		return "", fmt.Errorf("%w: %s: row %q", errMySQL, query, row)
	}

	return string(row[1:]), nil
}

// read returns the next packet, which is not empty.
func (c *mysqlConn) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	c.sequence = head[3] + 1
	packet := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	if _, err := io.ReadFull(c.in, packet); err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if len(packet) == 0 || packet[0] == 0xff {
		return nil, fmt.Errorf("%w: %q", errMySQL, packet)
	}

	return packet, nil
}

func (c *mysqlConn) write(packet []byte) error {
	n := len(packet)
	_, err := c.conn.Write(append([]byte{byte(n), byte(n >> 8), byte(n >> 16), c.sequence}, packet...))
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}

// plainMySQLVersion returns the number in a version. MariaDB puts 5.5.5 before it for old clients.
func plainMySQLVersion(version string) string {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "5.5.5-"), "-")

	return version
}
