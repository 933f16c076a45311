package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// tidy updates every go.mod, go.sum, go.work and go.work.sum to match the sources. `go mod tidy`
// does not support workspaces, so it gets a copy of go.mod in which siblings are replaced.
func (r *repo) tidy(ctx context.Context) error {
	for _, m := range r.modules {
		if err := r.tidyModule(ctx, m); err != nil {
			return err
		}
	}
	if err := r.writeWork(); err != nil {
		return err
	}
	return r.tidyWorkSum(ctx)
}

func (r *repo) tidyModule(ctx context.Context, m module) error {
	scratch, err := os.MkdirTemp("", "leat-tidy-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	name, sumName := r.file(m.dir, "go.mod"), r.file(m.dir, "go.sum")
	mod, err := read(name)
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(sumName) //nolint:gosec // ours
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, sibling := range r.modules {
		if sibling != m {
			if err := mod.AddReplace(sibling.path, "", r.file(sibling.dir), ""); err != nil {
				return err
			}
		}
	}
	copied := filepath.Join(scratch, "go.mod")
	if err := write(copied, mod); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(scratch, "go.sum"), sum, 0o600); err != nil { //nolint:gosec // of scratch
		return err
	}
	if _, err := output(ctx, r.file(m.dir), []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, "go", "mod", "tidy", "-modfile="+copied); err != nil {
		return err
	}
	if mod, err = read(copied); err != nil {
		return err
	}
	if err := r.withoutReplace(mod); err != nil {
		return err
	}
	tidied, err := os.ReadFile(filepath.Join(scratch, "go.sum")) //nolint:gosec // ours
	if err != nil {
		return err
	}
	if err := write(name, mod); err != nil {
		return err
	}
	return os.WriteFile(sumName, []byte(withSums(string(tidied), r.siblingSums(string(sum)))), 0o644) //nolint:gosec // as git has it
}

// withoutReplace removes the replacements of siblings from mod. Then mod must require the siblings at r's
// version.
func (r *repo) withoutReplace(mod *modfile.File) error {
	for _, sibling := range r.modules {
		if err := mod.DropReplace(sibling.path, ""); err != nil {
			return err
		}
	}
	var requires []*modfile.Require
	for _, q := range mod.Require {
		if r.isSibling(q.Mod.Path) {
			q.Mod.Version = r.version
		}
		requires = append(requires, q)
	}
	mod.SetRequireSeparateIndirect(requires)
	mod.Cleanup()
	return nil
}

func (r *repo) isSibling(path string) bool {
	return slices.ContainsFunc(r.modules, func(m module) bool { return m.path == path })
}

// siblingSums returns the lines of go.sum that are about siblings at r's version. A tidy with
// replaced siblings would drop them.
func (r *repo) siblingSums(sum string) []string {
	var kept []string
	for line := range strings.Lines(sum) {
		path, rest, _ := strings.Cut(line, " ")
		version, _, _ := strings.Cut(rest, " ")
		if r.isSibling(path) && strings.TrimSuffix(version, "/go.mod") == r.version {
			kept = append(kept, line)
		}
	}
	return kept
}

// withSums returns a go.sum with lines added to it. Both are in the order of their paths.
func withSums(sum string, lines []string) string {
	all := slices.Concat(slices.Collect(strings.Lines(sum)), lines)
	slices.SortStableFunc(all, func(a, b string) int {
		pathA, _, _ := strings.Cut(a, " ")
		pathB, _, _ := strings.Cut(b, " ")
		return cmp.Compare(pathA, pathB)
	})
	return strings.Join(all, "")
}

// writeWork makes go.work replace the required version of each sibling with its directory. Otherwise a
// workspace would look that version up, although it does not use it.
func (r *repo) writeWork() error {
	work, err := r.work()
	if err != nil {
		return err
	}
	var uses, replaces strings.Builder
	for _, m := range r.modules {
		fmt.Fprintf(&uses, "\t%s\n", local(m))
		if m.released() {
			fmt.Fprintf(&replaces, "\t%s %s => %s\n", m.path, r.version, local(m))
		}
	}
	text := fmt.Appendf(nil, "go %s\n\nuse (\n%s)\n\nreplace (\n%s)\n", work.Go.Version, &uses, &replaces)
	return os.WriteFile(r.file("go.work"), text, 0o644) //nolint:gosec // as git has it
}

// local returns m's directory as go.work writes it.
func local(m module) string {
	if m.dir == "." {
		return "."
	}
	return "./" + m.dir
}

// tidyWorkSum regenerates go.work.sum.
func (r *repo) tidyWorkSum(ctx context.Context) error {
	if err := os.Remove(r.file("go.work.sum")); err != nil && !os.IsNotExist(err) {
		return err
	}
	args := []string{"list", "-deps", "-test"}
	for _, m := range r.modules {
		args = append(args, local(m)+"/...")
	}
	_, err := output(ctx, r.root, []string{"GOWORK=" + r.file("go.work")}, "go", args...)
	return err
}

func read(name string) (*modfile.File, error) {
	text, err := os.ReadFile(name) //nolint:gosec // a go.mod of ours
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return mod, nil
}

func write(name string, mod *modfile.File) error {
	return os.WriteFile(name, modfile.Format(mod.Syntax), 0o644) //nolint:gosec // as git has it
}
