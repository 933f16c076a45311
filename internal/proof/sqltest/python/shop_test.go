package python_test

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/sqltest"
	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/outbox"
)

//leat:level 2
func TestMain(m *testing.M) { testenv.Main(m) }

// patience limits how long a test may take on a busy machine.
const patience = 3 * time.Minute

// shop is a database that Go and Python work on.
type shop struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // of the test
	dialect outbox.Dialect
	db      *sql.DB
	python  string
	where   string // the database, for Python
}

// onEach runs a test on each database.
func onEach(t *testing.T, test func(s *shop)) {
	t.Helper()
	for _, dialect := range []outbox.Dialect{outbox.MySQL, outbox.MariaDB, outbox.SQLite} {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(newShop(t, dialect))
		})
	}
}

func newShop(t *testing.T, dialect outbox.Dialect) *shop {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	s := &shop{t: t, ctx: ctx, dialect: dialect}
	where := map[string]any{"dialect": dialect}
	if dialect == outbox.SQLite {
		s.python = testenv.Python(t, "sqlite3")
		where["path"] = filepath.Join(t.TempDir(), "leat.db")
		s.db = sqltest.OpenSQLite(t, where["path"].(string), nil)
	} else {
		s.python = testenv.Python(t, "pymysql")
		server := testenv.MySQL
		if dialect == outbox.MariaDB {
			server = testenv.MariaDB
		}
		config := sqltest.NewMySQLDatabase(t, server(t).URL)
		s.db = sqltest.OpenMySQL(t, config, nil)
		host, port, err := net.SplitHostPort(config.Addr)
		require.NoError(t, err)
		where["port"], err = strconv.Atoi(port)
		require.NoError(t, err)
		where["host"], where["user"], where["password"], where["database"] = host, config.User, config.Passwd, config.DBName
	}
	raw, err := json.Marshal(where)
	require.NoError(t, err)
	s.where = string(raw)
	return s
}

func (s *shop) exec(statement string) {
	s.t.Helper()
	_, err := s.db.ExecContext(s.ctx, statement)
	require.NoError(s.t, err, statement)
}

// script is a Python process.
type script struct {
	*exec.Cmd

	t      *testing.T
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer
}

// start starts a command of leat.py. The command ends at the end of its input.
func (s *shop) start(args ...string) *script {
	s.t.Helper()
	p := &script{Cmd: exec.CommandContext(s.ctx, s.python, append([]string{"leat.py", s.where}, args...)...), t: s.t}
	p.Stderr = &p.stderr
	var err error
	p.in, err = p.StdinPipe()
	require.NoError(s.t, err)
	out, err := p.StdoutPipe()
	require.NoError(s.t, err)
	p.out = bufio.NewScanner(out)
	require.NoError(s.t, p.Start())
	return p
}

// ask sends a text to the process, and reads its answer.
func (p *script) ask(text string, answer any) {
	p.t.Helper()
	line, err := json.Marshal(text)
	require.NoError(p.t, err)
	_, err = p.in.Write(append(line, '\n'))
	require.NoError(p.t, err)
	if !p.out.Scan() {
		require.Fail(p.t, "Python has ended", "%v: %s", p.Wait(), p.stderr.String())
	}
	require.NoError(p.t, json.Unmarshal(p.out.Bytes(), answer))
}

// end ends a process that has done its work.
func (p *script) end() {
	p.t.Helper()
	require.NoError(p.t, p.in.Close())
	err := p.Wait()
	require.NoError(p.t, err, p.stderr.String())
}
