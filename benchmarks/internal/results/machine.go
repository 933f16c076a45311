package results

import (
	"fmt"
	"os"
	"strings"
)

// processor is the name of the first processor.
func processor() string {
	return lineOf("/proc/cpuinfo", "model name")
}

// memory is the size of the main memory in bytes.
func memory() uint64 {
	var kib uint64
	if _, err := fmt.Sscan(lineOf("/proc/meminfo", "MemTotal"), &kib); err != nil {
		return 0
	}
	return kib << 10
}

// kernel is the release of the kernel.
func kernel() string {
	return contents("/proc/sys/kernel/osrelease")
}

// load is the load average of one minute.
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

// contents is "" if there is no such file: not every system has it.
func contents(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // one of those above
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
