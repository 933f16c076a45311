package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// unreleased is the version at which sibling modules are required before the first release.
const unreleased = "v0.0.0-00010101000000-000000000000"

// module is a module of go.work.
type module struct {
	path string // such as github.com/leat-go/leat/outbox/natssink
	dir  string // such as outbox/natssink; "." for the root
}

// released reports whether users can require m.
func (m module) released() bool {
	return m.dir != "examples" && m.dir != "benchmarks" && m.dir != "internal" && !strings.HasPrefix(m.dir, "internal/")
}

// tag returns the name of m's tag for version.
func (m module) tag(version string) string { return path.Join(m.dir, version) }

// repo is a work tree of leat.
type repo struct {
	root    string
	modules []module // in the order of their paths: the root first
	version string   // version at which siblings are required
	out     io.Writer
}

// find returns the repository around dir.
func find(ctx context.Context, dir string, out io.Writer) (*repo, error) {
	top, err := output(ctx, dir, nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	r := &repo{root: strings.TrimSpace(top), version: unreleased, out: out}
	work, err := r.work()
	if err != nil {
		return nil, err
	}
	for _, use := range work.Use {
		dir := path.Clean(use.Path)
		text, err := os.ReadFile(r.file(dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		r.modules = append(r.modules, module{path: modfile.ModulePath(text), dir: dir})
	}
	slices.SortFunc(r.modules, func(a, b module) int { return cmp.Compare(a.path, b.path) })
	for _, replace := range work.Replace {
		if replace.Old.Path == r.modules[0].path {
			r.version = replace.Old.Version
		}
	}
	return r, nil
}

func (r *repo) work() (*modfile.WorkFile, error) {
	name := r.file("go.work")
	text, err := os.ReadFile(name) //nolint:gosec // ours
	if err != nil {
		return nil, err
	}
	return modfile.ParseWork(name, text, nil)
}

// file returns the path of a file in the repository.
func (r *repo) file(elem ...string) string {
	return filepath.Join(r.root, filepath.FromSlash(path.Join(elem...)))
}

// toRelease returns the modules that users can require. Each comes after the modules that it requires.
func (r *repo) toRelease() ([]module, error) {
	var ordered []module
	var visit func(m module) error
	visit = func(m module) error {
		if slices.Contains(ordered, m) {
			return nil
		}
		siblings, err := r.siblings(m)
		if err != nil {
			return err
		}
		for _, sibling := range siblings {
			if !sibling.released() {
				return fmt.Errorf("%s/go.mod requires %s, which is not released: move what it needs from there into a module that is", m.dir, sibling.path)
			}
			if err := visit(sibling); err != nil {
				return err
			}
		}
		ordered = append(ordered, m)
		return nil
	}
	for _, m := range r.modules {
		if m.released() {
			if err := visit(m); err != nil {
				return nil, err
			}
		}
	}
	return ordered, nil
}

// siblings returns the modules of r that m requires.
func (r *repo) siblings(m module) ([]module, error) {
	name := r.file(m.dir, "go.mod")
	text, err := os.ReadFile(name) //nolint:gosec // ours
	if err != nil {
		return nil, err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	var siblings []module
	for _, sibling := range r.modules {
		if slices.ContainsFunc(mod.Require, func(q *modfile.Require) bool { return q.Mod.Path == sibling.path }) {
			siblings = append(siblings, sibling)
		}
	}
	return siblings, nil
}

// git runs git and returns its output.
func (r *repo) git(ctx context.Context, args ...string) (string, error) {
	return output(ctx, r.root, nil, "git", args...)
}

// output runs a program in dir, with env added to the environment. Its error contains the program's
// stderr.
func output(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...) //nolint:gosec // git, go and what go builds
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s, in %s: %w\n%s", program, strings.Join(args, " "), dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return string(text), nil
}
