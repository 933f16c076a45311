// Package results keeps the results of benchmarks: every value of every round in samples.csv, and
// the environment in environment.json.
package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of the files in a directory of results.
const (
	SamplesName     = "samples.csv"
	EnvironmentName = "environment.json"
)

// Series names the values of one contender.
type Series struct {
	// Benchmark is the name of the benchmark without that word, such as RelayDrain/broker=kafka.
	Benchmark string
	// Contender is the side of the comparison, "" if there is only one.
	Contender string
	// Unit is the unit of the values, such as msg/s.
	Unit string
}

// Top returns the top-level benchmark to which a benchmark belongs. This may be the benchmark itself.
func Top(benchmark string) string {
	name, _, _ := strings.Cut(benchmark, "/")
	return name
}

// Sample is a measurement of one round.
type Sample struct {
	Series

	// Round counts from 0. Each contender of a comparison has one sample in every round.
	Round int
	// Value is in the unit of the series.
	Value float64
}

// columns returns the header of the file of samples.
func columns() []string { return []string{"benchmark", "contender", "unit", "round", "value"} }

func (s Sample) row() []string {
	return []string{s.Benchmark, s.Contender, s.Unit, strconv.Itoa(s.Round), strconv.FormatFloat(s.Value, 'g', -1, 64)}
}

func parse(row []string) (Sample, error) {
	round, err := strconv.Atoi(row[3])
	if err != nil {
		return Sample{}, fmt.Errorf("results: round: %w", err)
	}
	value, err := strconv.ParseFloat(row[4], 64)
	if err != nil {
		return Sample{}, fmt.Errorf("results: value: %w", err)
	}
	return Sample{Series: Series{Benchmark: row[0], Contender: row[1], Unit: row[2]}, Round: round, Value: value}, nil
}

// Load reads the samples in dir.
func Load(dir string) (set *Set, err error) {
	file, err := os.Open(filepath.Join(dir, SamplesName)) //nolint:gosec // the caller chooses it
	if err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return Read(file)
}

// Read reads samples in the format of samples.csv. The rounds of a series must be complete and in
// order.
func Read(from io.Reader) (*Set, error) {
	reader := csv.NewReader(from)
	reader.FieldsPerRecord = len(columns())
	head, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("results: head of the samples: %w", err)
	}
	if !slices.Equal(head, columns()) {
		return nil, fmt.Errorf("results: the columns are %q, want %q", head, columns())
	}
	set := &Set{}
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return set, nil
		}
		if err != nil {
			return nil, fmt.Errorf("results: read samples: %w", err)
		}
		s, err := parse(row)
		if err != nil {
			return nil, err
		}
		if others := len(set.Values(s.Series)); s.Round != others {
			return nil, fmt.Errorf("results: %s %s %s: round %d follows %d others", s.Benchmark, s.Contender, s.Unit, s.Round, others)
		}
		set.Add(s.Series, s.Value)
	}
}
