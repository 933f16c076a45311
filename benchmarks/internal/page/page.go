// Package page writes docs/benchmarks.md, docs/internals/measurements.md and their plots from the samples
// of a run. Where a figure has another source, the page names it.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"text/template"

	"github.com/leat-go/leat/benchmarks/internal/gate"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

//go:embed *.md.tmpl
var templates embed.FS

// pages returns the templates of the page for users and of the page with all figures, by their paths below
// the folder of the documentation.
func pages() map[string]string {
	return map[string]string{
		"benchmarks.md":             "benchmarks.md.tmpl",
		"internals/measurements.md": "measurements.md.tmpl",
	}
}

// folder is the folder of the plots, below that of the documentation.
const folder = "benchmarks"

// Run is the data of a page.
type Run struct {
	Samples     *results.Set
	Environment results.Environment
}

// Load reads a run from the directory of its results.
func Load(dir string) (r Run, err error) {
	if r.Samples, err = results.Load(dir); err != nil {
		return r, err
	}
	r.Environment, err = results.LoadEnvironment(dir)
	return r, err
}

// Write writes the pages and their plots into the folder docs, and a copy of the results in dir into the
// folder samples. It returns the figures of the pages that the run does not have.
func Write(docs, samples, dir string) (missing []string, err error) {
	r, err := Load(dir)
	if err != nil {
		return nil, err
	}
	for name := range pages() {
		text, lacks, err := Render(r, name)
		if err != nil {
			return nil, err
		}
		missing = append(missing, lacks...)
		if err := write(filepath.Join(docs, name), text); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{results.SamplesName, results.EnvironmentName} {
		file, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the caller chooses it
		if err == nil {
			err = write(filepath.Join(samples, name), file)
		}
		if err != nil {
			return nil, fmt.Errorf("copy results: %w", err)
		}
	}
	plots := filepath.Join(docs, folder)
	if err := os.MkdirAll(plots, 0o750); err != nil {
		return nil, fmt.Errorf("make folder of the plots: %w", err)
	}
	slices.Sort(missing)
	return slices.Compact(missing), writePlots(plots, r.Samples)
}

// write writes a file, and creates its folder.
func write(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
		return fmt.Errorf("make folder: %w", err)
	}
	if err := os.WriteFile(name, text, 0o600); err != nil { //nolint:gosec // the caller chooses it
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// view is the data of the template, in addition to its functions.
type view struct {
	Run

	Gates     []gate.Outcome
	Rivals    []gate.Standing
	MinRounds int
}

// Render fills in the page of that name: benchmarks.md or internals/measurements.md. missing lists the
// figures of the page that the run does not have.
func Render(r Run, name string) (page []byte, missing []string, err error) {
	f := &figures{run: r, shown: map[string]bool{}}
	file := pages()[name]
	t, err := template.New(file).Funcs(f.functions()).ParseFS(templates, file)
	if err != nil {
		return nil, nil, fmt.Errorf("parse page: %w", err)
	}
	v := view{
		Run: r, Gates: gate.Judge(r.Samples, gate.All()), Rivals: gate.Check(r.Samples, gate.Floors()), MinRounds: gate.MinRounds,
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return nil, nil, fmt.Errorf("fill in page: %w", err)
	}
	return b.Bytes(), f.missing, nil
}
