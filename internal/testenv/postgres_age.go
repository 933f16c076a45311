package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// Age sets the counters of transactions and multixacts of a server that is stopped forward to
// n, as years of work would: what is in its databases is that old then. Start it with a long
// autovacuum_naptime, or autovacuum makes all of it young again within seconds.
func (s *PostgresServer) Age(n int64) {
	s.tb.Helper()
	// What the server looks into when it starts: pages of the states of transactions, four
	// to a byte, and of the offsets of multixacts, four bytes each.
	const segment = 32 * 8192
	s.blank("pg_xact", n/(segment*4), segment)
	s.blank("pg_multixact/offsets", n/(segment/4), segment)
	next := strconv.FormatInt(n, 10)
	s.program("pg_resetwal", "-x", next, "-m", next+",1", s.own.data())
}

// BecomeStandby makes a server that is stopped start as a standby, of nobody.
func (s *PostgresServer) BecomeStandby() {
	s.tb.Helper()
	s.write(filepath.Join(s.own.data(), "standby.signal"), nil)
}

// blank writes a segment of zeros.
func (s *PostgresServer) blank(dir string, segment int64, size int) {
	s.tb.Helper()
	s.write(filepath.Join(s.own.data(), dir, fmt.Sprintf("%04X", segment)), make([]byte, size))
}

// write writes a file of the server's data, with its owner.
func (s *PostgresServer) write(path string, content []byte) {
	s.tb.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		s.tb.Fatal(err)
	}
	if credential := s.own.server.proc.plan.User.credential(); credential != nil {
		if err := os.Chown(path, int(credential.Uid), int(credential.Gid)); err != nil {
			s.tb.Fatal(err)
		}
	}
}

// program runs a program of the server's as who it runs as.
func (s *PostgresServer) program(name string, args ...string) {
	s.tb.Helper()
	path, err := s.own.Program(name)
	if err != nil {
		s.tb.Fatal(err)
	}
	cmd := exec.CommandContext(s.tb.Context(), path, args...)
	cmd.Dir, cmd.SysProcAttr = s.own.Dir(), &syscall.SysProcAttr{Credential: s.own.server.proc.plan.User.credential()}
	if out, err := cmd.CombinedOutput(); err != nil {
		s.tb.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}
