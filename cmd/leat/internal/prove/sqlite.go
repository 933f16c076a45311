package prove

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/internal/prover"
	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/outbox"
)

// SQLFile is a database in a file of SQLite.
type SQLFile interface {
	// Path is the path of the file.
	Path() string
	// Beside opens another file in the same way, and creates it if it does not exist.
	Beside(path string) (*sql.DB, error)
}

// liteServer is the directory of a file of SQLite. Its scratch place is another file in that directory.
type liteServer struct {
	sqlPlace

	db   SQLFile
	file string // the scratch file
	// second starts a process that runs [Hold] on a file of SQLite.
	second func(ctx context.Context, file string) *exec.Cmd
	// mounts returns the mounted file systems, in the form of /proc/self/mountinfo.
	mounts func() string
}

// SQLite tries SQLite in the directory of the file. second starts a process that runs [Hold] on a file.
func SQLite(db SQLFile, second func(ctx context.Context, file string) *exec.Cmd) prover.Server {
	s := &liteServer{db: db, second: second, mounts: func() string {
		text, _ := os.ReadFile("/proc/self/mountinfo") // which other systems lack
		return string(text)
	}}
	s.dialect, s.name = outbox.SQLite, "prove"
	s.open = func(*prover.Wires) (*sql.DB, error) { return db.Beside(s.file) }
	return s
}

// About implements prover.Server.
func (s *liteServer) About(ctx context.Context) string {
	about := "unknown"
	dir, err := os.MkdirTemp("", "leat-prove-*")
	if err != nil {
		return about
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if db, err := s.db.Beside(filepath.Join(dir, "about.db")); err == nil {
		_ = db.QueryRowContext(ctx, "SELECT 'SQLite ' || sqlite_version()").Scan(&about)
		_ = db.Close()
	}
	return about
}

var scratchFile = regexp.MustCompile(`^(` + prover.Prefix + `[0-9]+_[0-9a-f]{8})\.db(-.*)?$`)

// Prepare implements prover.Server.
func (s *liteServer) Prepare(ctx context.Context) error {
	dir, err := filepath.Abs(filepath.Dir(s.db.Path()))
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); err != nil {
		return err
	}
	now := time.Now().Unix()
	_ = removeFrom(dir, func(name string) bool { // files without the right to remove them stay
		parts := scratchFile.FindStringSubmatch(name)
		return parts != nil && prover.Stale(parts[1], now)
	})
	s.file = filepath.Join(dir, fmt.Sprintf("%s%d_%s.db", prover.Prefix, now, prover.Unique()))
	var none prover.Wires
	db, err := s.pool(&none, 1)
	if err != nil {
		return err
	}
	if err := errors.Join(db.PingContext(ctx), db.Close()); err != nil {
		return fmt.Errorf("a scratch file is needed beside the database: %w", err)
	}
	return nil
}

// Clean implements prover.Server.
func (s *liteServer) Clean(context.Context) error {
	if s.file == "" {
		return nil
	}
	dir, mine := filepath.Split(s.file)
	if err := removeFrom(dir, func(name string) bool { return name == mine || strings.HasPrefix(name, mine+"-") }); err != nil {
		return fmt.Errorf("file %s is left behind: %w", s.file, err)
	}
	return nil
}

// removeFrom removes files of a directory: SQLite and relays keep files next to the database.
func removeFrom(dir string, which func(name string) bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !which(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) { // another run may be sweeping
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Probes implements prover.Server.
func (s *liteServer) Probes() []prover.Probe {
	locks, reopen := "processes.exclude", "log.reopens"
	const disk = "keep the file on a local disk of this machine, on ext4, XFS, APFS or NTFS"
	const engine = "this SQLite does not work as leat needs it: see its version and how it was built"
	return []prover.Probe{
		prover.NewProbe("file.local", "O5 I3 I5", nil, disk, s.fileLocal),
		prover.NewProbe(locks, "O2 O5 I3 I5", nil, disk, s.processesExclude),
		prover.NewProbe("processes.killed", "O1 O14 I2 I4 I5", []string{locks}, disk, s.processesKilled),
		prover.NewProbe(reopen, "O1 O3 I3", nil, disk, s.logReopens),
		prover.NewProbe("sequence", "O2 O5 O12", nil, engine, s.sequence),
		prover.NewProbe("savepoints", "O1 I2", nil, engine, s.savepoints),
		prover.NewProbe("durability", "O3 I3", nil, "set PRAGMA synchronous = FULL on each connection", s.durability),
		prover.NewProbe("claim.once", "I1 I3 I5", []string{locks, "durability"}, engine, s.claimOnce),
		prover.NewProbe("leat.check", "O2 O3 O12", []string{locks, reopen, "durability"}, "see what Migrate, Check and a relay say", s.leatCheck),
	}
}

// fileLocal checks that the file is on a local disk. Over a network, locks of two machines do not exclude
// each other, and a write-ahead log needs memory that all processes share.
func (s *liteServer) fileLocal(t *prover.Trial) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(s.file))
	fail.If(err)
	if kind := networkKind(s.mounts(), dir); kind != "" {
		t.Broken("the file is on a file system of another machine (%s): SQLite's write-ahead log does not work there", kind)
	}
}

// networkKind returns the type of the file system of dir if it is a network file system. The lines of mounts
// have the form of /proc/self/mountinfo.
func networkKind(mounts, dir string) string {
	point, kind := "", ""
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) == 0 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\134`, `\`).Replace(where[4])
		if inside := at == "/" || dir == at || strings.HasPrefix(dir, at+"/"); inside && len(at) >= len(point) {
			point, kind = at, what[0]
		}
	}
	networks := []string{"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ocfs2", "gfs2", "beegfs", "fuse.sshfs", "fuse.s3fs", "fuse.glusterfs", "fuse.ceph", "fuse.juicefs", "fuse.rclone", "virtiofs"}
	if slices.Contains(networks, kind) {
		return kind
	}
	return ""
}

// holder is a second process that holds the lock of the file.
type holder struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	says *bufio.Reader
}

// Messages between a process and the one that holds the lock of a file for it.
const (
	saysHeld, saysCommitted = "held", "committed"
	asksCommit              = "commit"

	heldTable = "CREATE TABLE IF NOT EXISTS prove_held (name TEXT NOT NULL)"
)

// Hold runs in the second process. It writes a row in a transaction and keeps that open, commits when
// requested, and ends with its input.
func Hold(ctx context.Context, db *sql.DB, in io.Reader, out io.Writer) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range []string{heldTable, "INSERT INTO prove_held (name) VALUES ('second')"} {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintln(out, saysHeld); err != nil {
		return err
	}
	asked := bufio.NewScanner(in)
	for asked.Scan() {
		if asked.Text() != asksCommit {
			continue
		}
		if err := tx.Commit(); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, saysCommitted); err != nil {
			return err
		}
	}
	return asked.Err()
}

// hold starts a second process, and returns when it has the lock.
func (s *liteServer) hold(t *prover.Trial) *holder {
	h := &holder{cmd: s.second(t.Context(), s.file)}
	var err error
	h.in, err = h.cmd.StdinPipe()
	fail.If(err)
	out, err := h.cmd.StdoutPipe()
	fail.If(err)
	h.says = bufio.NewReader(out)
	fail.If(h.cmd.Start())
	t.Later(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	h.hears(saysHeld)
	return h
}

var errSecond = errors.New("the second process did not answer")

func (h *holder) hears(want string) {
	line, err := h.says.ReadString('\n')
	if strings.TrimSpace(line) != want {
		fail.Now(errors.Join(errSecond, err))
	}
}

// held creates the table of the second process, and returns a session that does not wait for locks.
func (s *liteServer) held(t *prover.Trial) sqlSession {
	a := s.session(t)
	a.do(heldTable, "DELETE FROM {s}_held", "PRAGMA busy_timeout = 0")
	return a
}

// mayWrite reports whether the session gets the lock of the file at once.
func mayWrite(s sqlSession) bool {
	_, err := s.attempt("BEGIN IMMEDIATE")
	if err != nil && !sqldialect.Locked(err) {
		fail.Now(err)
	}
	if err == nil {
		s.do("ROLLBACK")
	}
	return err == nil
}

// processesExclude checks that a second process that holds the lock of the file excludes this one.
func (s *liteServer) processesExclude(t *prover.Trial) {
	a := s.held(t)
	second := s.hold(t)
	if mayWrite(a) {
		t.Broken("two processes have the lock of the file at the same time")
		return
	}
	const count = "SELECT COUNT(*) FROM {s}_held"
	if value[int64](a, count) != 0 {
		t.Broken("what another process has not committed is seen")
	}
	_, err := fmt.Fprintln(second.in, asksCommit)
	fail.If(err)
	second.hears(saysCommitted)
	if value[int64](a, count) != 1 {
		t.Broken("what another process has committed is not seen")
	}
	if !mayWrite(a) {
		t.Broken("the lock of the file is not free after COMMIT of another process")
	}
}

// processesKilled kills a process in the middle of a transaction.
func (s *liteServer) processesKilled(t *prover.Trial) {
	a := s.held(t)
	second := s.hold(t)
	fail.If(second.cmd.Process.Kill())
	if !t.Soon(goneWithin, func() bool { return mayWrite(a) }) {
		t.Broken("the lock of a process that was killed is not free after %s", goneWithin)
	}
	if value[int64](a, "SELECT COUNT(*) FROM {s}_held") != 0 {
		t.Broken("what a process that was killed had not committed is there")
	}
	if got := value[string](a, "PRAGMA integrity_check"); got != "ok" {
		t.Broken("after a process was killed the file is damaged: %s", got)
	}
}

// logReopens checks that committed rows exist after the file is opened again.
func (s *liteServer) logReopens(t *prover.Trial) {
	a := s.session(t)
	if mode := value[string](a, "PRAGMA journal_mode"); mode != "wal" {
		t.Broken("the file has no write-ahead log, which was asked for, but journal_mode %s", mode)
	}
	a.do("CREATE TABLE {s}_log (name TEXT NOT NULL)", "INSERT INTO {s}_log VALUES ('x')")
	fail.If(a.conn.Close())
	a.end()
	if n, err := look[int64](s.session(t), "SELECT COUNT(*) FROM {s}_log"); err != nil || n != 1 {
		t.Broken("what was committed is not there when the file is opened again")
	}
}

// sequence checks the numbers of the log.
func (s *liteServer) sequence(t *prover.Trial) {
	a, b := s.session(t), s.session(t)
	a.do("CREATE TABLE {s}_numbers (seq INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)")
	last := int64(0)
	for i := range 6 {
		at := []sqlSession{a, b}[i%2]
		next := value[int64](at, "INSERT INTO {s}_numbers (name) VALUES ('x') RETURNING seq")
		if next <= last {
			t.Broken("numbers do not ascend, or one is given out again after its row was deleted: %d after %d", next, last)
			return
		}
		last = next
		at.exec("DELETE FROM {s}_numbers WHERE seq = ?", next)
	}
}

// savepoints tries transactions that roll back to a savepoint.
func (s *liteServer) savepoints(t *prover.Trial) {
	a, b := s.session(t), s.session(t)
	a.do("CREATE TABLE {s}_steps (name TEXT NOT NULL)", "BEGIN IMMEDIATE", "INSERT INTO {s}_steps VALUES ('kept')", "SAVEPOINT one",
		"INSERT INTO {s}_steps VALUES ('undone')", "ROLLBACK TO SAVEPOINT one", "COMMIT")
	if got := value[string](b, "SELECT COALESCE(group_concat(name), '') FROM {s}_steps"); got != "kept" {
		t.Broken("after ROLLBACK TO SAVEPOINT there is %q in place of %q", got, "kept")
	}
}

// quickCommit is the least duration of a commit that has waited for a disk.
const quickCommit = 100 * time.Microsecond

// durability checks the settings that decide if a commit is on disk, and how long a commit takes.
func (s *liteServer) durability(t *prover.Trial) {
	a := s.session(t)
	if v := value[int64](a, "PRAGMA synchronous"); v < 2 {
		t.Broken("synchronous is %d, below FULL: a commit is answered before it is on the disk; relays and inboxes refuse", v)
	}
	a.do("CREATE TABLE {s}_synced (name TEXT NOT NULL)")
	const commits = 20
	began := time.Now()
	for range commits {
		a.do("INSERT INTO {s}_synced VALUES ('x')")
	}
	if each := time.Since(began) / commits; each < quickCommit {
		t.Limited("a commit takes %s, in which no disk has written anything: a crash of the machine may lose what was committed", each.Round(time.Microsecond))
		if t.Finding.Outcome == prover.Limited {
			t.Finding.Advice = "ask what survives a crash of the machine: memory and disks of virtual machines may say that they have written, and have not"
		}
	}
}
