package testenv

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMySQL_TheFamilyIsWhatWasAskedFor(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		server MySQLServer
		own    mysqlFlavor
		other  mysqlFlavor
	}{
		"MySQL":   {MySQL(t), mysql(), mariadb()},
		"MariaDB": {MariaDB(t), mariadb(), mysql()},
	} {
		require.Regexp(t, `^\d+\.\d+\.\d+$`, c.server.Version, name)
		s, err := c.own.at(t.Context(), c.server.URL, "test")
		require.NoError(t, err, name)
		require.Equal(t, c.server.Version, s.Version, name)
		_, err = c.other.at(t.Context(), c.server.URL, "test")
		require.ErrorIs(t, err, ErrUnavailable, name)
	}
}

func TestMySQL_AnAddressIsCheckedAndItsPasswordHidden(t *testing.T) {
	t.Parallel()

	for _, address := range []string{"127.0.0.1:3306", "root@tcp(127.0.0.1:3306)/", "mysql://127.0.0.1:3306/", "mysql://root@localhost/"} {
		_, err := mysql().at(t.Context(), address, "test")
		require.ErrorContains(t, err, "is not mysql://user:password@host:port/", address)
	}
	_, err := mysql().at(t.Context(), "mysql://root:secret@127.0.0.1:1/", "test")
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")
}

func TestMySQL_ALoginIsCheckedUnlessItHasAPassword(t *testing.T) {
	t.Parallel()

	for _, server := range []MySQLServer{MySQL(t), MariaDB(t)} {
		conn, err := dialMySQL(t.Context(), hostOf(t, server.URL))
		require.NoError(t, err)
		defer conn.close()
		require.ErrorContains(t, conn.login("nobody-of-that-name"), "denied")
	}
}

//leat:level 4
func TestPrivateMySQL_KeepsItsDataAcrossAKill(t *testing.T) {
	t.Parallel()

	Long(t, "starts MySQL twice")
	keepsItsData(t, PrivateMySQL(t, map[string]string{"skip-log-bin": ""}))
}

//leat:level 4
func TestPrivateMariaDB_KeepsItsDataAcrossAKill(t *testing.T) {
	t.Parallel()

	Long(t, "starts MariaDB twice")
	keepsItsData(t, PrivateMariaDB(t, map[string]string{"log-bin": "binlog", "sync-binlog": "1"}))
}

// keepsItsData makes a database, whose directory the server's own table of contents
// must have after a kill, too.
func keepsItsData(t *testing.T, server *PrivateMySQLServer) {
	t.Helper()
	ask := func(query string) string {
		conn, err := dialMySQL(t.Context(), hostOf(t, server.URL))
		require.NoError(t, err)
		defer conn.close()
		require.NoError(t, conn.login("root"))
		value, err := conn.value(query)
		require.NoError(t, err)

		return value
	}
	require.Equal(t, "1", ask("SELECT @@innodb_flush_log_at_trx_commit"))
	mode := ask("SELECT @@log_bin")
	before := ask("SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.tables")

	server.Kill()
	_, err := dialMySQL(t.Context(), hostOf(t, server.URL))
	require.Error(t, err)
	server.Start()
	require.Equal(t, before, ask("SELECT CAST(COUNT(*) AS CHAR) FROM information_schema.tables"))
	require.Equal(t, mode, ask("SELECT @@log_bin"))
	require.Equal(t, strings.Contains(server.Version, "10."), mode == "1", "the settings are those of the test")
}

//leat:level 4
func TestDebianPackage_OneThatIsNotThereIsUnavailable(t *testing.T) {
	Long(t, "asks a mirror of Debian")
	t.Setenv(EnvCache, t.TempDir())

	_, err := debianPackage{suite: "bookworm", name: "leat-has-no-such-package"}.fetch(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "leat-has-no-such-package")
}

//leat:level 0
func TestMySQLFlavor_WithoutAServerTheErrorNamesTheVariable(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(EnvCache, t.TempDir())
	f := mysql()
	f.programs = []string{"no-such-server"}

	_, _, err := f.start(context.Background(), nil, false)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, EnvMySQL)
}

//leat:level 0
func TestPlainMySQLVersion(t *testing.T) {
	t.Parallel()

	for version, want := range map[string]string{
		"9.7.4":                            "9.7.4",
		"8.0.44-0ubuntu0.22.04.1":          "8.0.44",
		"5.5.5-10.11.18-MariaDB-0+deb12u1": "10.11.18",
		"11.8.9-MariaDB":                   "11.8.9",
	} {
		require.Equal(t, want, plainMySQLVersion(version), version)
	}
}

func hostOf(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)

	return u.Host
}
