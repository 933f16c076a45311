package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recorder writes the samples of a process.
type recorder struct {
	mu          sync.Mutex
	dir         string
	file        *os.File
	samples     *csv.Writer
	rounds      map[Series]int
	environment Environment
}

//nolint:gochecknoglobals // benchmarks have nothing else in common that could carry it
var current = &recorder{}

// Open makes all later samples go to dir. It creates dir if it does not exist, and overwrites results in
// it. If dir is "", nothing is recorded. The caller must call Close.
func Open(dir, scale string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, SamplesName)) //nolint:gosec // the caller chooses it
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	r := &recorder{
		dir: dir, file: file, samples: csv.NewWriter(file), rounds: map[Series]int{}, environment: here(scale),
	}
	current = r
	if err := r.write(columns()); err != nil {
		return errors.Join(err, Close())
	}
	return r.environment.save(dir)
}

// Close ends the recording.
func Close() error {
	r := current
	current = &recorder{}
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Record adds values to the contender's series of the running benchmark, one for each round. It may be
// called concurrently, but not for the same series.
func Record(tb testing.TB, contender, unit string, values ...float64) {
	tb.Helper()
	series := Series{Benchmark: Benchmark(tb), Contender: contender, Unit: unit}
	if err := current.record(series, values); err != nil {
		tb.Fatalf("results: record %s of %q: %v", unit, contender, err)
	}
}

// Benchmark returns the name of the running benchmark, as the samples contain it.
func Benchmark(tb testing.TB) string {
	tb.Helper()
	return strings.TrimPrefix(tb.Name(), "Benchmark")
}

func (r *recorder) record(series Series, values []float64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return nil
	}
	for _, value := range values {
		s := Sample{Series: series, Round: r.rounds[series], Value: value}
		if err := r.samples.Write(s.row()); err != nil {
			return err
		}
		r.rounds[series]++
	}
	return r.flush()
}

func (r *recorder) write(row []string) error {
	if err := r.samples.Write(row); err != nil {
		return err
	}
	return r.flush()
}

// flush writes all samples so far, since the run may be killed.
func (r *recorder) flush() error {
	r.samples.Flush()
	return r.samples.Error()
}
