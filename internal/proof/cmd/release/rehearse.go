package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// rehearsal is the version that a rehearsal releases. It is always the same, so that unchanged packages
// are built only once.
const rehearsal = "v0.0.1-rehearsal"

// rehearse releases a clone of HEAD and serves its modules from files. Then it does what a user without a
// clone does: install the command, require each module in an empty module, and build and run a program.
func (r *repo) rehearse(ctx context.Context) (err error) {
	began := time.Now()
	scratch, err := os.MkdirTemp("", "leat-rehearsal-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	clone := filepath.Join(scratch, "leat")
	if _, err := r.git(ctx, "clone", "--quiet", "--shared", r.root, clone); err != nil {
		return err
	}
	c, err := find(ctx, clone, r.out)
	if err != nil {
		return err
	}
	for name, value := range map[string]string{"user.name": "rehearsal", "user.email": "rehearsal@invalid", "commit.gpgSign": "false", "tag.gpgSign": "false"} {
		if _, err := c.git(ctx, "config", name, value); err != nil {
			return err
		}
	}
	if err := c.checkAPI(ctx); err != nil {
		return err
	}
	if err := c.commit(ctx, rehearsal, began, nil); err != nil {
		return err
	}
	u := &user{dir: scratch, version: rehearsal, began: began, out: r.out}
	if err := u.begin(ctx, c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.end()) }()
	if err := u.try(ctx, c); err != nil {
		return err
	}
	materials := filepath.Join(scratch, "materials")
	if err := u.materials(ctx, c, materials); err != nil {
		return err
	}
	if err := u.checkMaterials(c, materials); err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "the rehearsal passed in %s\n", time.Since(began).Round(time.Second))
	return err
}

// user is a user who has Go and a module proxy, but no clone.
type user struct {
	dir     string // directory for all files
	version string // of leat
	began   time.Time
	env     []string
	cache   string // the module cache
	lock    *os.File
	out     io.Writer
}

// begin serves the modules of c. The module cache is the caller's, so that nothing is downloaded twice.
// This version of leat is removed from it before and after.
func (u *user) begin(ctx context.Context, c *repo) (err error) {
	text, err := output(ctx, u.dir, nil, "go", "env", "-json", "GOMODCACHE", "GOPROXY")
	if err != nil {
		return err
	}
	var env struct{ GOMODCACHE, GOPROXY string }
	if err := json.Unmarshal([]byte(text), &env); err != nil {
		return err
	}
	u.cache = env.GOMODCACHE
	if err := os.MkdirAll(u.cache, 0o755); err != nil { //nolint:gosec // as go makes it
		return err
	}
	// Only one rehearsal may run at a time: another one would have different modules under the same
	// version.
	if u.lock, err = os.OpenFile(filepath.Join(u.cache, "leat-rehearsal.lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(u.lock.Fd()), syscall.LOCK_EX); err != nil {
		return errors.Join(err, u.lock.Close())
	}
	if err := u.forget(); err != nil {
		return errors.Join(err, u.lock.Close())
	}
	proxy := filepath.Join(u.dir, "proxy")
	u.env = []string{
		"GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=file://" + filepath.ToSlash(proxy) + "," + env.GOPROXY,
		// Otherwise go would use its cached index of the module as it was in the last rehearsal.
		"GODEBUG=goindex=0",
		"GONOSUMDB=" + c.modules[0].path, "GOPRIVATE=", "GONOPROXY=", "GOBIN=" + filepath.Join(u.dir, "bin"),
	}
	return serve(c, proxy)
}

// serve writes the files with which a module proxy serves the modules of c.
func serve(c *repo, proxy string) error {
	released, err := c.toRelease()
	if err != nil {
		return err
	}
	for _, m := range released {
		dir := filepath.Join(proxy, filepath.FromSlash(m.path), "@v")
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return err
		}
		mod, err := c.zip(m, c.version, filepath.Join(dir, c.version+".zip"))
		if err != nil {
			return err
		}
		info, err := json.Marshal(struct{ Version string }{c.version})
		if err != nil {
			return err
		}
		for name, content := range map[string][]byte{"list": []byte(c.version + "\n"), c.version + ".mod": mod, c.version + ".info": info} {
			if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
				return err
			}
		}
	}
	return nil
}

// end removes leat from the user's caches.
func (u *user) end() error { return errors.Join(u.forget(), u.lock.Close()) }

func (u *user) forget() error {
	for _, part := range []string{"github.com/leat-go", "cache/download/github.com/leat-go"} {
		err := filepath.WalkDir(filepath.Join(u.cache, filepath.FromSlash(part)), func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case d.IsDir() && strings.HasSuffix(name, "@"+u.version):
				if err := removeReadOnly(name); err != nil {
					return err
				}
				return fs.SkipDir
			case !d.IsDir() && strings.HasPrefix(d.Name(), u.version+"."):
				return os.Remove(name) //nolint:gosec // of the module cache
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// removeReadOnly removes a directory of the module cache, which is read-only.
func removeReadOnly(dir string) error {
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, 0o700) //nolint:gosec // it goes at once
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}

// try does everything that a user would do.
func (u *user) try(ctx context.Context, c *repo) error {
	released, err := c.toRelease()
	if err != nil {
		return err
	}
	for _, m := range released {
		if m.dir == "cmd/leat" {
			if err := u.install(ctx, m); err != nil {
				return err
			}
		} else if err := u.require(ctx, m); err != nil {
			return err
		}
	}
	if err := u.program(ctx, c, "hello"); err != nil {
		return err
	}
	if err := u.program(ctx, c, "readme"); err != nil {
		return err
	}
	// A packager builds a tag as it is, without other modules.
	for _, m := range released {
		env := slices.Concat(u.env, []string{"GOFLAGS=-mod=readonly"})
		if _, err := output(ctx, c.file(m.dir), env, "go", "list", "-deps", "-test", "./..."); err != nil {
			return err
		}
	}
	return u.say("every tag has a complete go.sum")
}

// say prints a success and the time since the beginning.
func (u *user) say(what string) error {
	_, err := fmt.Fprintf(u.out, "%4.0fs  %s\n", time.Since(u.began).Seconds(), what)
	return err
}

// install installs the command, and asks for its version.
func (u *user) install(ctx context.Context, m module) error {
	if _, err := output(ctx, u.dir, u.env, "go", "install", m.path+"@"+u.version); err != nil {
		return err
	}
	text, err := output(ctx, u.dir, nil, filepath.Join(u.dir, "bin", "leat"), "version")
	if err != nil {
		return err
	}
	if !strings.Contains(text, u.version) {
		return fmt.Errorf("leat version prints %q, without %s", text, u.version)
	}
	return u.say("go install " + m.path + ": " + strings.Join(strings.Fields(text), " "))
}

// require requires m in an empty module, and builds a program that imports it.
func (u *user) require(ctx context.Context, m module) error {
	dir, err := u.empty(ctx, strings.ReplaceAll(m.dir, "/", "-"))
	if err != nil {
		return err
	}
	imported := m.path
	if m.dir == "." {
		imported += "/outbox/pgoutbox"
	}
	program := "package main\n\nimport _ \"" + imported + "\"\n\nfunc main() {}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600); err != nil {
		return err
	}
	if _, err := output(ctx, dir, u.env, "go", "get", imported+"@"+u.version); err != nil {
		return err
	}
	if _, err := output(ctx, dir, u.env, "go", "build", "-o", "program", "."); err != nil {
		return err
	}
	return u.say("go get " + imported)
}

// empty makes an empty module.
func (u *user) empty(ctx context.Context, name string) (string, error) {
	dir := filepath.Join(u.dir, "user"+name)
	if err := os.Mkdir(dir, 0o750); err != nil {
		return "", err
	}
	_, err := output(ctx, dir, u.env, "go", "mod", "init", "example.com/user")
	return dir, err
}

// program builds an example in a separate module, and runs hello, which has its stores and its
// broker in memory.
func (u *user) program(ctx context.Context, c *repo, name string) error {
	dir, err := u.empty(ctx, "-"+name)
	if err != nil {
		return err
	}
	sources, err := filepath.Glob(c.file("examples/" + name + "/*.go"))
	if err != nil {
		return err
	}
	for _, source := range sources {
		text, err := os.ReadFile(source) //nolint:gosec // of the clone
		if err != nil {
			return err
		}
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(source)), text, 0o600); err != nil { //nolint:gosec // the name is that of a source
			return err
		}
	}
	for _, args := range [][]string{{"get", c.modules[0].path + "@" + u.version}, {"mod", "tidy"}, {"vet", "."}} {
		if _, err := output(ctx, dir, u.env, "go", args...); err != nil {
			return err
		}
	}
	if name != "hello" {
		return u.say("examples/" + name + ", in a module of its own")
	}
	text, err := output(ctx, dir, u.env, "go", "run", ".")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return u.say("examples/hello, in a module of its own: " + lines[len(lines)-1])
}
