package results

import (
	"fmt"
	"os"
	"strings"
)

// processor returns the name of the first processor.
func processor() string {
	return lineOf("/proc/cpuinfo", "model name")
}

// memory returns the size of the main memory in bytes.
func memory() uint64 {
	var kib uint64
	if _, err := fmt.Sscan(lineOf("/proc/meminfo", "MemTotal"), &kib); err != nil {
		return 0
	}
	return kib << 10
}

// kernel returns the release of the kernel.
func kernel() string {
	return contents("/proc/sys/kernel/osrelease")
}

// load returns the load average of one minute.
func load() float64 {
	var minute float64
	if _, err := fmt.Sscan(contents("/proc/loadavg"), &minute); err != nil {
		return 0
	}
	return minute
}

// lineOf returns the text after the name and a colon in the file.
func lineOf(path, name string) string {
	for line := range strings.Lines(contents(path)) {
		if before, after, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(before) == name {
			return strings.TrimSpace(after)
		}
	}
	return ""
}

// contents returns the content of a file, or "" if there is no such file: some systems do not have it.
func contents(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // one of those above
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
