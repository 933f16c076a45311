package testenv

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/wait"
)

// cacheDir returns the directory in which downloaded binaries are kept between runs. For root it is a
// directory that the account of the servers can read.
func cacheDir() (string, error) {
	dir := os.Getenv(EnvCache)
	switch {
	case dir != "":
	case os.Geteuid() == 0:
		dir = "/var/cache/leat"
	default:
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fmt.Errorf("testenv: %w", err)
		}
		dir = filepath.Join(user, "leat")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("testenv: %w", err)
	}

	return dir, nil
}

// once fills a directory of the cache unless it exists. The directory appears complete or not at all.
// Processes that need it at the same time wait for the first one.
func once(ctx context.Context, dir string, fill func(dir string) error) (err error) {
	unlock, err := lockFile(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	partial := dir + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := os.MkdirAll(partial, 0o755); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	if err := fill(partial); err != nil {
		return err
	}
	if err := os.Rename(partial, dir); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}

// lockFile takes an advisory lock, which the kernel releases if the process dies.
func lockFile(ctx context.Context, path string) (unlock func() error, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return file.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("testenv: lock %s: %w", path, err), file.Close())
		}
		if err := wait.For(ctx, 200*time.Millisecond); err != nil {
			return nil, errors.Join(fmt.Errorf("testenv: lock %s: %w", path, err), file.Close())
		}
	}
}

// errSum is returned for a file that differs from the pinned one. A checksum that the download server
// publishes is not enough, since it follows the file's current content.
var errSum = errors.New("testenv: fetched file is not the pinned one")

// sums are the SHA-256 of files by name, from a table in the format of sha256sum.
type sums map[string]string

// parseSums reads a table. Each line is a sum in hexadecimal and a file.
func parseSums(table []byte) (sums, error) {
	s := sums{}
	for line := range strings.Lines(string(table)) {
		fields := strings.Fields(line)
		if len(fields) != 2 || len(fields[0]) != hex.EncodedLen(sha256.Size) || s[fields[1]] != "" {
			return nil, fmt.Errorf("testenv: table of sums: %q is not a sum and a new file", line)
		}
		s[fields[1]] = fields[0]
	}

	return s, nil
}

// check returns an error unless content has the sum of the file called name.
func (s sums) check(name string, content io.Reader) error {
	want, ok := s[name]
	if !ok {
		return fmt.Errorf("%w: %s: there is no sum of it", errSum, name)
	}
	h := sha256.New()
	if _, err := io.Copy(h, content); err != nil {
		return fmt.Errorf("testenv: %s: %w", name, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		return fmt.Errorf("%w: %s: want SHA-256 %s, got %s", errSum, name, want, got)
	}

	return nil
}

// checkDir returns an error unless the files in dir that have one of the extensions are exactly those of
// the table.
func (s sums) checkDir(dir string, extensions ...string) error {
	var paths []string
	for _, extension := range extensions {
		found, err := filepath.Glob(filepath.Join(dir, "*"+extension))
		if err != nil {
			return fmt.Errorf("testenv: %w", err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		if err := s.checkFile(path); err != nil {
			return err
		}
	}
	for name := range s {
		if !slices.Contains(paths, filepath.Join(dir, name)) {
			return fmt.Errorf("%w: %s: was not fetched", errSum, name)
		}
	}

	return nil
}

func (s sums) checkFile(path string) (err error) {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	return s.check(filepath.Base(path), file)
}

// memoryRoot is a file system in memory, on Linux. On a disk, most of the tests' time is spent on creating
// and removing files: each database consists of four hundred files.
const memoryRoot = "/dev/shm"

// memoryRoom is how many bytes of memory must be free for a server's data to be stored in memory. All
// servers of `make test` together need less than half of it.
const memoryRoom = 6 << 30

// inMemory is set by InMemory.
//
//nolint:gochecknoglobals // it is about this process: servers are started in many places
var inMemory atomic.Bool

// InMemory makes servers that this process starts from now on keep their data in memory, if the machine
// has plenty of it. Otherwise the data stays on disk. Tests call it. Programs that measure, or that need
// their data on a disk for other reasons, do not.
func InMemory() { inMemory.Store(true) }

// workRoot returns the directory for the servers' directories. If this process runs as root, an
// unprivileged account must be able to reach it.
func workRoot() string {
	switch {
	case inMemory.Load() && roomIn(memoryRoot) >= memoryRoom && availableMemory() >= memoryRoom:
		return memoryRoot
	default:
		return diskRoot()
	}
}

// diskRoot is workRoot for servers whose data must be on a disk.
func diskRoot() string {
	if os.Geteuid() == 0 {
		return "/tmp"
	}

	return os.TempDir()
}

// isInMemory reports whether dir was made below memoryRoot.
func isInMemory(dir string) bool { return strings.HasPrefix(dir, memoryRoot+"/") }

// whereData returns what to add to the origin of a server in the directory dir if its data is in memory.
func whereData(dir string) string {
	if isInMemory(dir) {
		return ", data in memory"
	}

	return ""
}

// roomIn returns how many bytes are free in the file system of dir. It returns 0 if that is not in memory.
func roomIn(dir string) uint64 {
	const tmpfs = 0x01021994

	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs {
		return 0
	}

	return fs.Bavail * uint64(fs.Bsize)
}

// availableMemory returns how many bytes of memory are available on the machine and in the container that
// this process may run in. It returns 0 if that is not known.
func availableMemory() uint64 {
	free := machineMemory()
	for limit, used := range map[string]string{
		"/sys/fs/cgroup/memory.max":                   "/sys/fs/cgroup/memory.current",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes": "/sys/fs/cgroup/memory/memory.usage_in_bytes",
	} {
		most, limited := number(limit)
		now, _ := number(used)
		if limited {
			free = min(free, most-min(most, now))
		}
	}

	return free
}

// number returns the number in a file. It returns false for "max", which stands for an absent limit.
func number(path string) (uint64, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)

	return n, err == nil
}

// machineMemory returns the kernel's estimate of the memory available to new programs.
func machineMemory() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kib, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			if err != nil {
				return 0
			}

			return kib << 10
		}
	}

	return 0
}
