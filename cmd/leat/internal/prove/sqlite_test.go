package prove

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"github.com/leat-go/leat/internal/prover"
)

// testFile is a file of SQLite whose statements are changed on their way: another SQLite, which lacks something.
type testFile struct {
	path    string
	mode    string // of the journal; empty: wal
	replace []string
	// elsewhere is a directory in which each connection has a file of its own.
	elsewhere string
}

func (f testFile) Path() string { return f.path }

func (f testFile) Beside(path string) (*sql.DB, error) {
	if f.elsewhere != "" {
		path = filepath.Join(f.elsewhere, prover.Unique()+".db")
	}
	mode := "WAL"
	if f.mode != "" {
		mode = f.mode
	}
	query := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(10000)", "synchronous(FULL)", "journal_mode(" + mode + ")"}}
	return sql.OpenDB(rewriter{"file:" + path + "?" + query.Encode(), strings.NewReplacer(f.replace...)}), nil
}

// rewriter is a driver.Connector whose connections change statements.
type rewriter struct {
	dsn     string
	replace *strings.Replacer
}

func (r rewriter) Connect(context.Context) (driver.Conn, error) {
	conn, err := r.Driver().Open(r.dsn)
	if err != nil {
		return nil, err
	}
	return rewritten{conn, r.replace}, nil
}

func (rewriter) Driver() driver.Driver { return &sqlite.Driver{} }

// rewritten only prepares statements, so that all of them pass through one place.
type rewritten struct {
	driver.Conn

	replace *strings.Replacer
}

func (r rewritten) Prepare(query string) (driver.Stmt, error) {
	return r.Conn.Prepare(r.replace.Replace(query))
}

func (r rewritten) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	return r.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, r.replace.Replace(query))
}

func (r rewritten) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return r.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

// secondProcess is one of this test.
func secondProcess(ctx context.Context, file string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), holdVariable+"="+file)
	return cmd
}

// onFile tries a file in a directory of the test's own.
func onFile(t *testing.T, f testFile) *liteServer {
	t.Helper()
	f.path = filepath.Join(t.TempDir(), "shop.db")
	return SQLite(f, secondProcess).(*liteServer)
}

// findings runs the probes that match, and looks whether the directory is empty then.
func findings(t *testing.T, s *liteServer, only string, workload time.Duration) map[string]prover.Finding {
	t.Helper()
	found, err := prover.Run(t.Context(), s, options(only, workload))
	require.NoError(t, err)
	by := map[string]prover.Finding{}
	for _, f := range found {
		by[f.Probe] = f
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.db.Path()), prover.Prefix+"*"))
	require.NoError(t, err)
	require.Empty(t, left)
	return by
}

// On a disk of this machine all holds.
func TestSQLite_Holds(t *testing.T) {
	t.Parallel()
	s := onFile(t, testFile{})
	require.Contains(t, s.About(t.Context()), "SQLite 3.")
	found := findings(t, s, "", 3*time.Second)
	require.Len(t, found, 10)
	for name, f := range found {
		if name == "durability" { // directories of tests may be in memory
			require.NotEqual(t, prover.Broken, f.Outcome)
			continue
		}
		require.Equal(t, prover.OK, f.Outcome, "%s: %q", name, f.Details)
	}
	require.Contains(t, found["workload"].Details[1], "0 lost, 0 doubled, 0 out of order, 0 invented")
	require.NoFileExists(t, s.db.Path())
}

// A file or SQLite that lacks one property: the probe of that property says so.
func TestSQLite_Controls(t *testing.T) {
	t.Parallel()
	other := t.TempDir()
	elsewhere := func(ctx context.Context, _ string) *exec.Cmd {
		return secondProcess(ctx, filepath.Join(other, "other.db"))
	}
	for name, control := range map[string]struct {
		testFile

		second      func(ctx context.Context, file string) *exec.Cmd
		mounts      string
		probe, says string
	}{
		"a file of another machine":       {mounts: "36 35 98:0 / / rw - nfs4 host:/srv rw\n", probe: "file.local", says: "(nfs4)"},
		"a log that was not asked for":    {testFile: testFile{mode: "DELETE"}, probe: "log.reopens", says: "journal_mode delete"},
		"files that are gone":             {testFile: testFile{elsewhere: other}, probe: "log.reopens", says: "is not there when the file is opened again"},
		"numbers that are given out anew": {testFile: testFile{replace: []string{"AUTOINCREMENT", ""}}, probe: "sequence", says: "given out again"},
		"steps that stay":                 {testFile: testFile{replace: []string{"ROLLBACK TO SAVEPOINT one", "RELEASE one"}}, probe: "savepoints", says: `"kept,undone"`},
		"commits that are not on disk":    {testFile: testFile{replace: []string{"PRAGMA synchronous", "SELECT 1"}}, probe: "durability", says: "synchronous is 1"},
		"claims that exclude nobody":      {testFile: testFile{replace: []string{"PRIMARY KEY (consumer, id)\n) WITHOUT ROWID", "CHECK (true)\n)", "SELECT EXISTS (SELECT 1", "SELECT 0 AND EXISTS (SELECT 1"}}, probe: "claim.once", says: "had their effect more than once"},
		"locks that are not seen":         {second: elsewhere, probe: "processes.exclude", says: "two processes have the lock"},
		"what was killed had committed":   {testFile: testFile{replace: []string{"SELECT COUNT(*) FROM prove_held", "SELECT 1"}}, probe: "processes.killed", says: "had not committed is there"},
		"a file that a kill damages":      {testFile: testFile{replace: []string{"PRAGMA integrity_check", "SELECT 'row 1 missing'"}}, probe: "processes.killed", says: "damaged: row 1 missing"},
		"what is open is seen":            {testFile: testFile{replace: []string{"SELECT COUNT(*) FROM prove_held", "SELECT 1"}}, probe: "processes.exclude", says: "has not committed is seen"},
		"a log that leat itself refuses":  {testFile: testFile{mode: "MEMORY"}, probe: "leat.check", says: "leat refuses: Migrate: journal_mode = memory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onFile(t, control.testFile)
			if control.second != nil {
				s.second = control.second
			}
			if control.mounts != "" {
				s.mounts = func() string { return control.mounts }
			}
			f := findings(t, s, control.probe, 0)[control.probe]
			require.Equal(t, prover.Broken, f.Outcome, "%q", f.Details)
			require.Contains(t, strings.Join(f.Details, "\n"), control.says)
			require.NotEmpty(t, f.Advice)
		})
	}
}

// The longest mount that has the directory counts, and of two at one place the later one.
func TestNetworkKind(t *testing.T) {
	t.Parallel()
	const mounts = "1 0 0:1 / / rw - ext4 /dev/sda rw\n2 1 0:2 / /srv rw shared:1 - nfs host:/ rw\n3 1 0:3 / /srv/local rw - xfs /dev/sdb rw\n" +
		"4 1 0:4 / /with\\040blank rw - cifs //host/share rw\n5 1 0:5 / /twice rw - nfs host:/ rw\n6 1 0:6 / /twice rw - tmpfs tmpfs rw\nnonsense\n" //nolint:dupword // a line of the kernel
	for dir, want := range map[string]string{
		"/srv": "nfs", "/srv/a/b": "nfs", "/srv/local/a": "", "/srvx": "", "/": "", "/with blank/a": "cifs", "/twice": "",
	} {
		require.Equal(t, want, networkKind(mounts, dir), dir)
	}
}

// What a run has left behind that was killed, a later one removes, once it is old.
func TestSQLite_Sweeps(t *testing.T) {
	t.Parallel()
	s := onFile(t, testFile{})
	dir := filepath.Dir(s.db.Path())
	file := func(ago time.Duration, end string) string {
		path := filepath.Join(dir, fmt.Sprintf("leat_prove_%d%s", time.Now().Add(-ago).Unix(), end))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	file(2*time.Hour, "_0a1b2c3d.db")
	file(2*time.Hour, "_0a1b2c3d.db-wal")
	file(2*time.Hour, "_0a1b2c3d.db-leat-0123456789abcdef")
	young, others := file(time.Minute, "_0a1b2c3d.db"), file(2*time.Hour, "_ours.db")
	_, err := prover.Run(t.Context(), s, options("savepoints", 0))
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	want := []string{young, others}
	slices.Sort(want)
	require.Equal(t, want, left)
}
