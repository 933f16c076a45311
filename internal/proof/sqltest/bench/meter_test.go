package bench_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// spent is the cost of some work.
type spent struct {
	took           time.Duration
	client, server time.Duration // of processors
	statements     int64         // that the server has been sent
}

func (s spent) processor() time.Duration { return s.client + s.server }

func (s spent) plus(t spent) spent {
	return spent{s.took + t.took, s.client + t.client, s.server + t.server, s.statements + t.statements}
}

// meter reads what this process and a server have spent so far. Nothing else may use the server.
type meter struct {
	db  *sql.DB // nil for none
	pid int
}

// tick is the unit in which /proc counts processor time on Linux.
const tick = 10 * time.Millisecond

func newMeter(b *testing.B, db *sql.DB) meter {
	b.Helper()
	var file string
	require.NoError(b, db.QueryRowContext(b.Context(), "SELECT @@pid_file").Scan(&file))
	text, err := os.ReadFile(file)
	require.NoError(b, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(b, err)
	return meter{db, pid}
}

// measure runs work and returns its cost, as far as it is known.
func (m meter) measure(work func() error) (spent, error) {
	before, err := m.read()
	if err != nil {
		return spent{}, err
	}
	began := time.Now()
	err = work()
	took := time.Since(began)
	after, err2 := m.read()
	after.took = took
	after.client -= before.client
	after.server -= before.server
	after.statements -= before.statements + 1 // the meter's own
	return after, errors.Join(err, err2)
}

func (m meter) read() (s spent, err error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return s, err
	}
	s.client = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	if m.db == nil {
		return s, nil
	}
	if s.server, err = processorTime(m.pid); err != nil {
		return s, err
	}
	var name string
	return s, m.db.QueryRow("SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &s.statements)
}

func processorTime(pid int) (time.Duration, error) {
	text, err := fs.ReadFile(os.DirFS("/proc"), strconv.Itoa(pid)+"/stat")
	if err != nil {
		return 0, err
	}
	_, behind, _ := strings.Cut(string(text), ") ") // the name may have blanks
	fields := strings.Fields(behind)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(fields))
	}
	u, err1 := strconv.ParseInt(fields[user], 10, 64)
	s, err2 := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(u+s) * tick, errors.Join(err1, err2)
}
