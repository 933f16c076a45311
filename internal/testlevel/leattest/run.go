package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/testlevel"
)

// run is one run of go test.
type run struct {
	root      string
	levels    string
	commit    int
	reruns    int      // most failed tests that are run once more
	flags     []string // flags of go test
	packages  []*testlevel.Package
	selection testlevel.Selection
}

func newRun(ctx context.Context, name string, args []string) (*run, error) {
	r := &run{}
	flags := flag.NewFlagSet("leattest "+name, flag.ContinueOnError)
	flags.StringVar(&r.levels, "levels", "0,1", "the levels whose tests run; 2/6 is a sixth of level 2")
	flags.IntVar(&r.commit, "commit", -1, "the number of the commit, which chooses slices; defaults to that of HEAD")
	flags.IntVar(&r.reruns, "rerun", 0, "if at most so many tests fail, run them once more: a test that passes then is flaky, which is noted")
	module := flags.String("module", "", "the packages of the module in this directory; . is the root's")
	only := flags.String("only", "", "the packages whose directories from the root match the regular expression")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	r.flags = flags.Args()
	var err error
	if r.root, err = findRoot(); err != nil {
		return nil, err
	}
	if r.commit < 0 && strings.Contains(r.levels, "/") {
		if r.commit, err = commitNumber(ctx); err != nil {
			return nil, err
		}
	}
	choice, err := testlevel.ParseChoice(r.levels, r.commit)
	if err != nil {
		return nil, err
	}
	if r.packages, err = testlevel.Scan(os.DirFS(r.root)); err != nil {
		return nil, err
	}
	expression, err := regexp.Compile(*only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	r.packages = slices.DeleteFunc(r.packages, func(p *testlevel.Package) bool {
		return !expression.MatchString(p.Dir) || *module != "" && *module != p.Module
	})
	r.selection = testlevel.Select(r.packages, choice)
	return r, nil
}

// tools is the path of the tools' go.mod, from the root.
const tools = ".ci/tools/go.mod"

// findRoot returns the nearest directory, this one or one above it, that contains tools.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, tools)); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in a clone of leat: there is no %s above it", start, tools)
		}
	}
}

// commitNumber returns the number of commits up to HEAD. A shallow clone does not have all commits; for it
// the number is derived from the commit's hash.
func commitNumber(ctx context.Context) (int, error) {
	shallow, err := output(ctx, "git", "rev-parse", "--is-shallow-repository")
	if err != nil {
		return 0, err
	}
	if shallow != "true" {
		count, err := output(ctx, "git", "rev-list", "--count", "HEAD")
		if err != nil {
			return 0, err
		}
		return strconv.Atoi(count)
	}
	name, err := output(ctx, "git", "rev-parse", "--short=7", "HEAD")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(name[:7], 16, 0)
	return int(n), err
}

// list prints what would run.
func (r *run) list(w io.Writer) error {
	for _, p := range r.packages {
		if !slices.Contains(r.selection.Packages, p.Dir) {
			continue
		}
		skip, err := compile(r.selection.Skip[p.Dir])
		if err != nil {
			return err
		}
		for _, t := range p.Tests {
			if skip == nil || !skip.MatchString(t.Name) {
				if _, err := fmt.Fprintf(w, "%d %s %s\n", t.Level, p.Dir, t.Name); err != nil {
					return err
				}
			}
		}
	}
	_, err := fmt.Fprintln(w, r.summary())
	return err
}

// test runs go test under gotestsum.
func (r *run) test(ctx context.Context) error {
	if len(r.selection.Packages) == 0 {
		return fmt.Errorf("-levels %s, -module, -only: there are no such tests", r.levels)
	}
	began := time.Now()
	self, err := r.keepSelf()
	if err != nil {
		return err
	}
	selection, err := r.keepSelection()
	if err != nil {
		return err
	}
	gotestsum, err := r.gotestsum(ctx)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "leattest-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	events := filepath.Join(scratch, "events.json")
	gotest := func(packages, flags []string, jsonfile ...string) error {
		args := append([]string{"--format", "pkgname", "--format-icons", "text", "--hide-summary", "skipped"}, jsonfile...)
		args = append(args, "--", "-vet=off", "-exec="+self+" exec "+selection)
		args = slices.Concat(args, r.flags, flags, packages)
		cmd := exec.CommandContext(ctx, gotestsum, args...) //nolint:gosec // our own tools
		cmd.Dir, cmd.Stdout, cmd.Stderr = r.root, os.Stdout, os.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		return cmd.Run()
	}
	packages := make([]string, len(r.selection.Packages))
	for i, dir := range r.selection.Packages {
		packages[i] = "./" + dir
	}
	failed := gotest(packages, nil, "--jsonfile", events)
	if failed != nil && r.reruns > 0 && ctx.Err() == nil {
		failed = r.rerun(failed, events, func(packages, flags []string) error { return gotest(packages, flags) })
	}
	if err := r.report(events, time.Since(began)); err != nil {
		return errors.Join(failed, err)
	}
	return failed
}

// gotestsum builds the tool and returns its path.
func (r *run) gotestsum(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "-n", "-modfile="+filepath.Join(r.root, tools), "gotestsum") //nolint:gosec // our own sources
	cmd.Dir = r.root
	cmd.Env = append(os.Environ(), "GOWORK=off") // a workspace allows no other go.mod
	return outputOf(cmd)
}

// kept returns a directory for files whose paths must be the same in each run, since go test's cached
// results depend on the paths.
func kept() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "leat", "leattest")
	return dir, os.MkdirAll(dir, 0o700)
}

// keepSelf copies this program into that directory.
func (r *run) keepSelf() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(self) //nolint:gosec // this program
	if err != nil {
		return "", err
	}
	return keep(text, 0o700)
}

// keepSelection writes the file that execute reads.
func (r *run) keepSelection() (string, error) {
	skip := make(map[string]string, len(r.selection.Skip))
	for dir, pattern := range r.selection.Skip {
		skip[filepath.Join(r.root, filepath.FromSlash(dir))] = pattern
	}
	text, err := json.Marshal(skip)
	if err != nil {
		return "", err
	}
	return keep(text, 0o600)
}

// keep writes a file whose name is derived from its content.
func keep(text []byte, mode os.FileMode) (string, error) {
	dir, err := kept()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	name := filepath.Join(dir, hex.EncodeToString(sum[:8]))
	if _, err := os.Stat(name); err == nil { //nolint:gosec // our own cache
		return name, nil
	}
	scratch, err := os.CreateTemp(dir, "new-")
	if err != nil {
		return "", err
	}
	_, err = scratch.Write(text)
	err = errors.Join(err, scratch.Chmod(mode), scratch.Close())
	if err != nil {
		return "", err
	}
	return name, os.Rename(scratch.Name(), name) //nolint:gosec // our own cache
}

// output returns what a command prints.
func output(ctx context.Context, name string, args ...string) (string, error) {
	return outputOf(exec.CommandContext(ctx, name, args...)) //nolint:gosec // git, with words of ours
}

func outputOf(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", cmd.Args, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
