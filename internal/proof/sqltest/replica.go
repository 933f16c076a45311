package sqltest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/faultnet"
	"github.com/leat-go/leat/internal/testenv"
)

// Replicated starts two servers for the test alone, with testenv.PrivateMySQL or testenv.PrivateMariaDB,
// and replication from the first to the second, which is writable. It returns how to connect to a database
// on each of them.
func Replicated(
	tb testing.TB, start func(testing.TB, map[string]string) *testenv.PrivateMySQLServer,
) (source, replica *mysql.Config) {
	tb.Helper()
	var urls []string
	for id := range 2 {
		server := start(tb, map[string]string{"log-bin": "binlog", "sync-binlog": "1", "server-id": strconv.Itoa(id + 1)})
		urls = append(urls, server.URL)
	}
	source = NewMySQLDatabase(tb, urls[0])
	on, err := mysql.ParseDSN(strings.TrimSuffix(strings.Replace(urls[1], "mysql://root@", "root@tcp(", 1), "/") + ")/")
	require.NoError(tb, err)
	replica = source.Clone()
	replica.Addr = on.Addr
	server := replica.Clone()
	server.DBName = ""
	_, port, _ := strings.Cut(source.Addr, ":")
	change := "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'root', SOURCE_PORT = " + port
	if strings.Contains(version(tb, source), "MariaDB") {
		change = "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_USER = 'root', MASTER_PORT = " + port
	}
	onServer(tb, server, change)
	onServer(tb, server, "START REPLICA")
	return source, replica
}

func version(tb testing.TB, config *mysql.Config) (text string) {
	tb.Helper()
	require.NoError(tb, OpenMySQL(tb, config, nil).QueryRowContext(tb.Context(), "SELECT VERSION()").Scan(&text))
	return text
}

// Watched returns config with the address of a splitter that has only one server. It fails the test for
// each read of leat's tables outside of a transaction that does not prove which server has answered (rule
// R14): a read/write splitter may send such reads elsewhere.
func Watched(tb testing.TB, config *mysql.Config) *mysql.Config {
	tb.Helper()
	behind := config.Clone()
	behind.Addr = faultnet.MySQLSplitter{
		Writer: config.Addr, Reader: config.Addr,
		Away: func(sql string) bool {
			decides := strings.Contains(sql, "`leat_") && !strings.Contains(sql, "_migrations`") // migrations may run again
			if decides && !strings.Contains(sql, "(SELECT 1 UNION ALL SELECT 2)") {
				tb.Errorf("outside of a transaction, and by any server: %s", sql)
			}
			return false
		},
	}.Listen(tb)
	return behind
}
