package adopt_test

import (
	"database/sql"
	"log"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/adopt"
	"github.com/leat-go/leat/outbox/sqloutbox"
)

//leat:level 1
func TestMain(m *testing.M) {
	if err := testenv.SideBySide(); err != nil {
		log.Fatal(err)
	}
	testenv.Main(m)
}

// database is a database of MySQL or MariaDB with leat's outbox and the tables of testdata.
type database struct {
	*sql.DB

	dialect outbox.Dialect
	ob      *sqloutbox.Outbox
}

// onEach runs test on MySQL and on MariaDB.
func onEach(t *testing.T, test func(t *testing.T, db database)) {
	t.Helper()
	for dialect, open := range map[outbox.Dialect]func(testing.TB) *sql.DB{outbox.MySQL: sqltest.MySQL, outbox.MariaDB: sqltest.MariaDB} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			db := database{DB: open(t), dialect: dialect}
			var err error
			db.ob, err = sqloutbox.New(db.DB, dialect, sqloutbox.Config{})
			require.NoError(t, err)
			require.NoError(t, db.ob.Migrate(t.Context()))
			text, err := os.ReadFile("testdata/shapes.sql")
			require.NoError(t, err)
			for statement := range strings.SplitSeq(string(text), ";\n") {
				if strings.TrimSpace(statement) != "" {
					db.exec(t, statement)
				}
			}
			test(t, db)
		})
	}
}

func (db database) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), statement, args...)
	require.NoError(t, err, statement)
}

// recognized returns the table that cfg names, with the configuration that its columns suggest.
func (db database) recognized(t *testing.T, cfg adopt.Config) *adopt.Table {
	t.Helper()
	table, err := adopt.NewSQL(db.DB, db.dialect, cfg)
	require.NoError(t, err)
	proposal, shape, err := table.Recognize(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, shape)
	table, err = adopt.NewSQL(db.DB, db.dialect, proposal)
	require.NoError(t, err)
	return table
}

// column returns the values of a query's only column.
func (db database) column(t *testing.T, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var text string
		require.NoError(t, rows.Scan(&text))
		all = append(all, text)
	}
	require.NoError(t, rows.Err())
	return all
}

// places returns the keys in leat's outbox, in its order.
func (db database) places(t *testing.T) []string {
	t.Helper()
	return db.column(t, "SELECT msg_key FROM leat_outbox WHERE shard >= 0 ORDER BY seq")
}
