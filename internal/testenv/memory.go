package testenv

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// memoryRoot is a file system in memory, where Linux has one. Creating and removing
// files is what tests cost a disk most: each database is four hundred of them.
const memoryRoot = "/dev/shm"

// memoryRoom is how much has to be free, in bytes, so that a server's data goes into
// memory. All servers of `make test` together take less than half of it.
const memoryRoom = 6 << 30

// inMemory is set by InMemory.
//
//nolint:gochecknoglobals // it is about this process: servers are started in many places
var inMemory atomic.Bool

// InMemory has servers that this process starts from now on keep their data in memory,
// if the machine has plenty of it; otherwise it stays on disk. Tests do so. Programs
// that measure, or whose data is wanted on a disk for other reasons, do not.
func InMemory() { inMemory.Store(true) }

// workRoot is where the servers' directories go. An unprivileged account must be
// able to reach it when we are root.
func workRoot() string {
	switch {
	case inMemory.Load() && roomIn(memoryRoot) >= memoryRoom && availableMemory() >= memoryRoom:
		return memoryRoot
	default:
		return diskRoot()
	}
}

// diskRoot is workRoot for servers whose data must not be in memory.
func diskRoot() string {
	if os.Geteuid() == 0 {
		return "/tmp"
	}

	return os.TempDir()
}

// isInMemory reports whether dir was made below memoryRoot.
func isInMemory(dir string) bool { return strings.HasPrefix(dir, memoryRoot+"/") }

// whereData adds to the origin of a server whose directory is dir that it is in memory.
func whereData(dir string) string {
	if isInMemory(dir) {
		return ", data in memory"
	}

	return ""
}

// roomIn returns how many bytes are free in the file system of dir, 0 if it is not one
// in memory.
func roomIn(dir string) uint64 {
	const tmpfs = 0x01021994

	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs {
		return 0
	}

	return fs.Bavail * uint64(fs.Bsize)
}

// availableMemory returns how many bytes of memory the machine and the container that
// we may be in can still give, 0 if that is not known.
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

// number returns what a file holds if that is a number: no limit is "max".
func number(path string) (uint64, bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64)

	return n, err == nil
}

// machineMemory is what the kernel reckons that new programs could have.
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
