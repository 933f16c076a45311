package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// checkAPI compares the exported names of the stable packages with the last release. It refuses a break
// unless an item of the changelog names the package and the broken names.
func (r *repo) checkAPI(ctx context.Context) error {
	stable, err := r.stable()
	if err != nil {
		return err
	}
	tags, err := r.git(ctx, "tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=-version:refname")
	if err != nil {
		return err
	}
	last, _, _ := strings.Cut(tags, "\n")
	if last == "" {
		_, err := fmt.Fprintf(r.out, "API: no release to compare %d stable packages with\n", len(stable))
		return err
	}
	scratch, err := os.MkdirTemp("", "leat-api-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	old := &repo{root: filepath.Join(scratch, "leat")}
	if _, err := r.git(ctx, "clone", "--quiet", "--shared", "--branch", last, "--config", "advice.detachedHead=false", r.root, old.root); err != nil {
		return err
	}
	if known, err := old.stable(); err == nil { // packages that were stable in the last release are checked, too
		stable = append(stable, known...)
		slices.Sort(stable)
		stable = slices.Compact(stable)
	}
	_, said, _, err := r.changes()
	if err != nil {
		return err
	}
	var wrong []string
	for _, pkg := range stable {
		breaks, err := r.breaks(ctx, old, pkg, filepath.Join(scratch, "old.export"))
		if err != nil {
			return err
		}
		for _, b := range breaks {
			if !isSaid(said, pkg, b) {
				wrong = append(wrong, pkg+": "+b)
			}
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("stable packages break users of %s, and CHANGELOG.md does not say so below %q. Undo these, or name package and identifier there:\n%s",
			last, strings.TrimSpace(unreleasedHeading), strings.Join(wrong, "\n"))
	}
	_, err = fmt.Fprintf(r.out, "API: %d stable packages, compared with %s\n", len(stable), last)
	return err
}

// stablePage is the page with the list of stable packages.
const stablePage = "docs/versions.md"

var quoted = regexp.MustCompile("`([^`]+)`")

// stable returns the paths of the packages that the documentation promises not to break, relative to the
// root.
func (r *repo) stable() ([]string, error) {
	text, err := os.ReadFile(r.file(stablePage))
	if err != nil {
		return nil, err
	}
	var packages []string
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(line, "|"); len(cells) > 2 && strings.TrimSpace(cells[1]) == "*stable*" {
			for _, name := range quoted.FindAllStringSubmatch(cells[2], -1) {
				packages = append(packages, name[1])
			}
		}
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%s has no row *stable* with packages in backticks", stablePage)
	}
	for _, pkg := range packages {
		if !r.has(pkg) {
			return nil, fmt.Errorf("%s calls %s stable, and there is no such package", stablePage, pkg)
		}
	}
	return packages, nil
}

func (r *repo) has(pkg string) bool {
	files, _ := filepath.Glob(r.file(pkg, "*.go")) // the pattern is valid
	return len(files) > 0
}

// breaks returns what is not compatible with old's package, one break a line, such as "Config.Max:
// removed".
func (r *repo) breaks(ctx context.Context, old *repo, pkg, export string) ([]string, error) {
	switch {
	case !old.has(pkg):
		return nil, nil
	case !r.has(pkg):
		return []string{"package: removed"}, nil
	}
	env := []string{"GOWORK=off"}
	apidiff, err := output(ctx, r.root, env, "go", "tool", "-n", "-modfile=.ci/tools/go.mod", "apidiff")
	if err != nil {
		return nil, err
	}
	apidiff = strings.TrimSpace(apidiff)
	importPath := path.Join(r.modules[0].path, pkg)
	if _, err := output(ctx, old.root, env, apidiff, "-w", export, importPath); err != nil {
		return nil, err
	}
	text, err := output(ctx, r.root, env, apidiff, "-incompatible", export, importPath)
	if err != nil {
		return nil, err
	}
	var breaks []string
	for line := range strings.Lines(text) {
		if b, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			breaks = append(breaks, b)
		}
	}
	return breaks, nil
}

// isSaid reports whether an item of the changelog names both the package and the identifier.
func isSaid(changes, pkg, b string) bool {
	name, _, _ := strings.Cut(b, ":")
	name = name[strings.LastIndex(name, ".")+1:]
	for item := range strings.SplitSeq("\n"+changes, "\n- ") {
		if hasWord(item, path.Base(pkg)) && hasWord(item, name) {
			return true
		}
	}
	return false
}

func hasWord(text, word string) bool {
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(word) + `\b`).MatchString(text)
}
