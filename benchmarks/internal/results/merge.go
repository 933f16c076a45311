package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Again is a later run of some benchmarks, whose results replace those of the first run.
type Again struct {
	Date time.Time `json:"date"`
	// Commit has the meaning of Environment.Commit, and Load that of Machine.Load.
	Commit string  `json:"commit"`
	Load   float64 `json:"load"`
	// Benchmarks are the benchmarks that ran again, without their sub-benchmarks.
	Benchmarks []string `json:"benchmarks"`
}

// Merge writes results to dir: those of later for the benchmarks that it contains, and those of first for
// all others. Both runs must have the same scale, kind of machine and versions of common modules, since
// the page shows them side by side.
func Merge(dir, first, later string) error {
	samples, err := Load(first)
	if err != nil {
		return err
	}
	fresh, err := Load(later)
	if err != nil {
		return err
	}
	environment, err := LoadEnvironment(first)
	if err != nil {
		return err
	}
	other, err := LoadEnvironment(later)
	if err != nil {
		return err
	}
	again := fresh.benchmarks()
	if err := environment.add(other, again); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	if err := save(dir, samples.replace(fresh, again)); err != nil {
		return err
	}
	return environment.save(dir)
}

// benchmarks returns the benchmarks of the set, without their sub-benchmarks.
func (s *Set) benchmarks() []string {
	var names []string
	for _, series := range s.Series() {
		if name := Top(series.Benchmark); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// replace returns the set in which the benchmarks of fresh replace its own.
func (s *Set) replace(fresh *Set, again []string) *Set {
	merged := &Set{}
	for _, series := range s.Series() {
		if !slices.Contains(again, Top(series.Benchmark)) {
			merged.Add(series, s.Values(series)...)
		}
	}
	for _, series := range fresh.Series() {
		merged.Add(series, fresh.Values(series)...)
	}
	return merged
}

// add adds a later run of some benchmarks to e.
func (e *Environment) add(later Environment, again []string) error {
	if len(later.Again) > 0 {
		return errors.New("results: what is to be put in place of others is of several runs itself")
	}
	for _, c := range []struct {
		what    string
		differs bool
	}{
		{"scale", e.Scale != later.Scale},
		{"processors", e.Machine.CPU != later.Machine.CPU || e.Machine.GOMAXPROCS != later.Machine.GOMAXPROCS},
		{"version of Go", e.Machine.Go != later.Machine.Go},
		{"modules", differ(e.Modules, later.Modules)},
	} {
		if c.differs {
			return fmt.Errorf("results: the two runs differ in %s: run all benchmarks again", c.what)
		}
	}
	maps.Copy(e.Modules, later.Modules)
	ranAgain := func(benchmark string) bool { return slices.Contains(again, Top(benchmark)) }
	for i := range e.Servers {
		e.Servers[i].Benchmarks = slices.DeleteFunc(e.Servers[i].Benchmarks, ranAgain)
	}
	for _, server := range later.Servers {
		at := slices.IndexFunc(e.Servers, server.same)
		if at < 0 {
			e.Servers = append(e.Servers, server)
			continue
		}
		e.Servers[at].Benchmarks = append(e.Servers[at].Benchmarks, server.Benchmarks...)
	}
	e.Servers = slices.DeleteFunc(e.Servers, func(s Server) bool { return len(s.Benchmarks) == 0 })
	for i := range e.Again {
		e.Again[i].Benchmarks = slices.DeleteFunc(e.Again[i].Benchmarks, ranAgain)
	}
	e.Again = slices.DeleteFunc(e.Again, func(a Again) bool { return len(a.Benchmarks) == 0 })
	e.Again = append(e.Again, Again{Date: later.Date, Commit: later.Commit, Load: later.Machine.Load, Benchmarks: again})
	return nil
}

// differ reports whether some module has different versions in here and there.
func differ(here, there map[string]string) bool {
	for path, version := range here {
		if other, both := there[path]; both && other != version {
			return true
		}
	}
	return false
}

// same reports whether other is the same server with the same settings.
func (s Server) same(other Server) bool {
	return s.Name == other.Name && s.Version == other.Version && maps.Equal(s.Settings, other.Settings)
}

// save writes the samples of the set to dir.
func save(dir string, set *Set) (err error) {
	file, err := os.Create(filepath.Join(dir, SamplesName)) //nolint:gosec // the caller chooses it
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return set.write(file)
}

func (s *Set) write(to io.Writer) error {
	w := csv.NewWriter(to)
	rows := [][]string{columns()}
	for _, series := range s.Series() {
		for round, value := range s.Values(series) {
			rows = append(rows, Sample{Series: series, Round: round, Value: value}.row())
		}
	}
	if err := w.WriteAll(rows); err != nil {
		return fmt.Errorf("results: write samples: %w", err)
	}
	return nil
}
