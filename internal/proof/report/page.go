package report

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/leat-go/leat/internal/history"
)

//go:embed reliability.md.tmpl
var pageTemplate string

// Paths below the folder of the documentation.
const (
	pageName = "reliability.md"
	folder   = "reliability"
	runName  = "run.json"
)

// view is the data of the page's template.
type view struct {
	Run
	Failures []string
	Words    []string
	Total    history.FaultTotals
	Took     time.Duration
	HasPlots bool
	Beside   []view // runs that are shown on the page of this one
}

// Write writes the page reliability.md into the folder docs. It writes the plots and the thinned run into
// its folder reliability. A run of the daemon, or on a database other than PostgreSQL, is shown on the
// page of the main run, which must exist.
func Write(docs string, r Run) error {
	if err := os.MkdirAll(filepath.Join(docs, folder), 0o750); err != nil {
		return fmt.Errorf("make folder of the report: %w", err)
	}
	place, err := r.place()
	if err != nil {
		return err
	}
	if place != "" {
		main, err := Load(filepath.Join(docs, folder, runName))
		if err != nil {
			return err
		}
		r.Samples, r.Marks = nil, nil // such a run has no plots on the page
		if err := r.Save(filepath.Join(docs, folder, place+".json")); err != nil {
			return err
		}
		r = main
	}
	return writePage(docs, r.thinned())
}

// writePage writes the page of r, and its other files.
func writePage(docs string, r Run) error {
	var beside []Run
	for _, place := range places() {
		one, err := Load(filepath.Join(docs, folder, place+".json"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		}
		beside = append(beside, one)
	}
	page, err := render(docs, r, beside)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(docs, pageName), page, 0o600); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := r.Save(filepath.Join(docs, folder, runName)); err != nil {
		return err
	}
	return writePlots(filepath.Join(docs, folder), r)
}

// render fills in the page.
func render(docs string, r Run, beside []Run) ([]byte, error) {
	english := message.NewPrinter(language.English)
	page, err := template.New(pageName).Funcs(template.FuncMap{
		"n":            func(n int) string { return english.Sprintf("%d", n) },
		"list":         func(names []string) string { return orNobody(strings.Join(names, ", ")) },
		"consequences": consequences,
		"page":         func(name, text string) string { return link(docs, name, text) },
	}).Parse(pageTemplate)
	if err != nil {
		return nil, fmt.Errorf("parse page: %w", err)
	}
	v := viewOf(r)
	for i := range beside {
		v.Beside = append(v.Beside, viewOf(beside[i]))
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, fmt.Errorf("fill in page: %w", err)
	}
	return b.Bytes(), nil
}

func viewOf(r Run) view {
	return view{
		Run: r, Failures: r.Failures(), Words: words(r.Verdict), Total: r.FaultTotals(),
		Took: r.Duration().Round(time.Second), HasPlots: len(r.Samples) > 1,
	}
}

// Points returns the faults of the run, summed up by point.
func (v view) Points() []history.FaultCount {
	var all []history.FaultCount
	for _, f := range v.FaultCounts() {
		if last := len(all) - 1; last >= 0 && all[last].Point == f.Point {
			all[last].Injected += f.Injected
			all[last].Counted += f.Counted
			continue
		}
		all = append(all, f)
	}
	return all
}

// words returns, in plain words, how many violations of the main promises were found.
func words(v history.Verdict) []string {
	var all []string
	for _, w := range []struct{ name, word string }{
		{history.O2, "lost"},
		{history.I1, "doubled"},
		{history.O3, "phantom"},
		{history.O5, "inverted"},
	} {
		if f, ok := v.Finding(w.name); ok && f.Unjudged == "" {
			all = append(all, fmt.Sprintf("%d %s", f.Violations, w.word))
		}
	}
	return all
}

// link returns a link to the page if it exists, or else the text alone.
func link(docs, name, text string) string {
	if _, err := os.Stat(filepath.Join(docs, name)); err != nil {
		return text
	}
	return fmt.Sprintf("[%s](%s)", text, name)
}

// consequences lists what was observed and how often.
func consequences(f history.FaultCount) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.Consequences)) {
		all = append(all, fmt.Sprintf("%s %d", name, f.Consequences[name]))
	}
	return strings.Join(all, ", ")
}

func orNobody(names string) string {
	if names == "" {
		return "**nobody**"
	}
	return names
}
