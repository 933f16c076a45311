// Package page writes docs/benchmarks.md and its plots from the samples of a run. Every figure of
// the page comes from them.
package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/leat-go/leat/benchmarks/internal/gate"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

//go:embed benchmarks.md.tmpl
var pageTemplate string

// Paths below the folder of the documentation.
const (
	pageName = "benchmarks.md"
	folder   = "benchmarks"
)

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

// Results is the directory of the results that the page in the folder docs shows.
func Results(docs string) string { return filepath.Join(docs, folder) }

// Write writes the page into the folder docs, and the plots and a copy of the results in dir into
// docs/benchmarks. It returns the figures of the page that the run does not have.
func Write(docs, dir string) (missing []string, err error) {
	r, err := Load(dir)
	if err != nil {
		return nil, err
	}
	text, missing, err := Render(r)
	if err != nil {
		return nil, err
	}
	beside := Results(docs)
	if err := os.MkdirAll(beside, 0o750); err != nil {
		return nil, fmt.Errorf("make folder of the page: %w", err)
	}
	for _, name := range []string{results.SamplesName, results.EnvironmentName} {
		file, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // the caller chooses it
		if err == nil {
			err = os.WriteFile(filepath.Join(beside, name), file, 0o600) //nolint:gosec // the caller chooses it
		}
		if err != nil {
			return nil, fmt.Errorf("copy results: %w", err)
		}
	}
	if err := writePlots(beside, r.Samples); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(docs, pageName), text, 0o600); err != nil {
		return nil, fmt.Errorf("write page: %w", err)
	}
	return missing, nil
}

// view is the data of the template, in addition to its functions.
type view struct {
	Run

	Gates     []gate.Outcome
	Rivals    []gate.Standing
	MinRounds int
}

// Render fills in the page. Missing are figures of the page that the run does not have.
func Render(r Run) (page []byte, missing []string, err error) {
	f := &figures{run: r, shown: map[string]bool{}}
	t, err := template.New(pageName).Funcs(f.functions()).Parse(pageTemplate)
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
