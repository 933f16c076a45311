package mutants

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// buildTime is how long building may take, in addition to the time of the tests.
	buildTime = 10 * time.Minute

	// killDelay is how long a command may take to end after it was interrupted.
	killDelay = 10 * time.Second
)

// goTest is one `go test` of some tests of a package.
type goTest struct {
	root    string
	pkg     string
	tests   []string
	overlay string // file of the overlay, empty for none
	timeout time.Duration
}

// args returns the arguments of `go`.
func (g goTest) args() []string {
	patterns := make([]string, len(g.tests))
	for i, test := range g.tests {
		patterns[i] = pattern(test)
	}
	args := []string{
		"test", "-json", "-count=1", "-vet=off", "-ldflags=-s -w",
		"-timeout=" + g.timeout.String(), "-run=" + strings.Join(patterns, "|"),
	}
	if g.overlay != "" {
		args = append(args, "-overlay="+g.overlay)
	}
	_, pkg := moduleOf(g.root, g.pkg)
	args = append(args, "./"+pkg)
	if usesRapid(os.DirFS(g.root), g.pkg) {
		args = append(args, "-args", "-rapid.nofailfile") // rapid would write failures into the sources
	}
	return args
}

// moduleOf returns the module that contains a package below root, relative to root, and the package
// relative to the module. The module may be that of root, or one below it.
func moduleOf(root, pkg string) (module, rest string) {
	for module = pkg; module != "."; module = path.Dir(module) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(module), "go.mod")); err == nil {
			return module, strings.TrimPrefix(strings.TrimPrefix(pkg, module), "/")
		}
	}
	return ".", pkg
}

// usesRapid reports whether a package has tests of rapid.
func usesRapid(tree fs.FS, pkg string) bool {
	files, _ := fs.Glob(tree, path.Join(pkg, "*_test.go")) // the pattern is valid
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := fs.ReadFile(tree, file)
		return err == nil && bytes.Contains(text, []byte(`"pgregory.net/rapid"`))
	})
}

// do runs the tests. An error means that they could not be run to their end.
func (g goTest) do(ctx context.Context) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, g.timeout+buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", g.args()...) //nolint:gosec // our own packages and tests
	module, _ := moduleOf(g.root, g.pkg)
	cmd.Dir = filepath.Join(g.root, filepath.FromSlash(module))
	// In its own process group, so that the test ends with its parent.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = killDelay
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		return nil, err
	}
	rep := read(out)
	rep.green = err == nil
	return rep, nil
}
