package page

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/leat-go/leat/benchmarks/internal/results"
)

// fsync describes a server of the benchmarks, shared or durable, by what it does at a commit.
func (f *figures) fsync(server string) string {
	for _, s := range f.run.Environment.Servers {
		setting, ok := s.Settings["fsync"]
		if ok && slices.ContainsFunc(s.Benchmarks, func(b string) bool { return strings.Contains(b, "server="+server) }) {
			return "fsync " + setting
		}
	}
	return server
}

// byHand returns the name of the server on which a benchmark by hand ran.
func (f *figures) byHand(server string) string {
	if server == "mysql" {
		return "MySQL"
	}
	return "PostgreSQL, " + f.fsync(server)
}

// server is a row of the table of servers.
type server struct {
	Name, Version, Settings, Benchmarks string
}

func (f *figures) servers() []server {
	var rows []server
	for _, s := range f.run.Environment.Servers {
		var settings, benchmarks []string
		for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
			settings = append(settings, "`"+name+"="+s.Settings[name]+"`")
		}
		for _, b := range s.Benchmarks {
			if b = results.Top(b); !slices.Contains(benchmarks, b) {
				benchmarks = append(benchmarks, b)
			}
		}
		rows = append(rows, server{s.Name, s.Version, strings.Join(settings, " "), strings.Join(benchmarks, ", ")})
	}
	slices.SortStableFunc(rows, func(a, b server) int { return cmp.Compare(a.Name, b.Name) })
	return rows
}

// module is a row of the table of versions.
type module struct {
	Path, Version string
}

// modules returns the measured modules, without those that only measure.
func (f *figures) modules() []module {
	var rows []module
	for _, path := range slices.Sorted(maps.Keys(f.run.Environment.Modules)) {
		if !slices.ContainsFunc(tools(), func(tool string) bool { return strings.HasPrefix(path, tool) }) {
			rows = append(rows, module{path, f.run.Environment.Modules[path]})
		}
	}
	return rows
}

// tools returns modules that do not affect any figure.
func tools() []string {
	return []string{
		"github.com/google/uuid", "github.com/stretchr/testify", "go.uber.org/goleak", "golang.org/x/text", "gonum.org/",
	}
}
