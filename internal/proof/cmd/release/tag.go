package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	modversion "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// release rehearses a release, and then commits and tags it. It refuses an invalid or existing version,
// and a work tree with uncommitted changes.
func (r *repo) release(ctx context.Context, version string) error {
	if err := r.checkVersion(ctx, version); err != nil {
		return err
	}
	if err := r.checkClean(ctx); err != nil {
		return err
	}
	if err := r.checkAPI(ctx); err != nil {
		return err
	}
	if err := r.rehearse(ctx); err != nil {
		return err
	}
	materials := r.file("dist", version)
	err := r.commit(ctx, version, time.Now(), func() error { return r.writeMaterials(ctx, materials) })
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(r.out, "%s is committed and tagged here. To publish it: git push --follow-tags origin HEAD, and attach the files of %s\n",
		version, materials)
	return err
}

// writeMaterials writes the files that are published with the tags of the release in HEAD, and
// checks them.
func (r *repo) writeMaterials(ctx context.Context, dir string) (err error) {
	scratch, err := os.MkdirTemp("", "leat-release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	u := &user{dir: scratch, version: r.version, began: time.Now(), out: r.out}
	if err := u.begin(ctx, r); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, u.end()) }()
	for _, m := range r.modules {
		if m.dir == "cmd/leat" {
			if err := u.install(ctx, m); err != nil {
				return err
			}
		}
	}
	if err := u.materials(ctx, r, dir); err != nil {
		return err
	}
	return u.checkMaterials(r, dir)
}

func (r *repo) checkVersion(ctx context.Context, version string) error {
	if !semver.IsValid(version) || semver.Canonical(version) != version {
		return fmt.Errorf("version %q is not a full semantic version: write it as v0.1.0 or v0.1.0-rc.1", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("version %s: a module of %s has /%s at the end of its path, and ours have not: choose v0 or v1", version, major, major)
	}
	for _, m := range r.modules {
		tag, err := r.git(ctx, "tag", "--list", m.tag(version))
		if err != nil {
			return err
		}
		if tag != "" {
			return fmt.Errorf("version %s is taken: there is a tag %s: choose the next one", version, strings.TrimSpace(tag))
		}
	}
	return nil
}

func (r *repo) checkClean(ctx context.Context) error {
	changes, err := r.git(ctx, "status", "--porcelain")
	if err != nil || changes == "" {
		return err
	}
	return fmt.Errorf("the work tree has changes: commit or remove them first:\n%s", strings.TrimRight(changes, "\n"))
}

// commit makes the commit of a release and its tags, and then calls then unless it is nil. If a step
// fails, it undoes all others.
func (r *repo) commit(ctx context.Context, version string, at time.Time, then func() error) (err error) {
	before, err := r.git(ctx, "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	was := r.version
	var tags []string
	defer func() {
		if err == nil {
			return
		}
		// The undoing needs a time limit of its own, since the end of ctx may be the reason for err.
		undo := context.WithoutCancel(ctx)
		for _, tag := range tags {
			_, undone := r.git(undo, "tag", "--delete", tag)
			err = errors.Join(err, undone)
		}
		_, undone := r.git(undo, "reset", "--quiet", "--hard", strings.TrimSpace(before))
		err = errors.Join(err, undone)
		r.version = was
	}()
	r.version = version
	if err := r.closeChangelog(version, at); err != nil {
		return err
	}
	if err := r.tidy(ctx); err != nil {
		return err
	}
	if _, err := r.git(ctx, "commit", "--quiet", "--all", "--message", "release: publish "+version); err != nil {
		return err
	}
	released, err := r.toRelease()
	if err != nil {
		return err
	}
	for _, m := range released {
		if err := r.addSums(ctx, m, version); err != nil {
			return err
		}
	}
	for _, m := range released {
		if _, err := r.git(ctx, "tag", "--annotate", "--message", m.path+" "+version, m.tag(version)); err != nil {
			return err
		}
		tags = append(tags, m.tag(version))
	}
	if then != nil {
		return then()
	}
	return nil
}

// addSums adds to the go.sum of m the checksums of the siblings that it requires, as they are in HEAD. It
// amends HEAD.
func (r *repo) addSums(ctx context.Context, m module, version string) error {
	siblings, err := r.siblings(m)
	if err != nil || len(siblings) == 0 {
		return err
	}
	var lines []string
	for _, sibling := range siblings {
		sums, err := r.sums(sibling, version)
		if err != nil {
			return err
		}
		lines = append(lines, sums...)
	}
	name := r.file(m.dir, "go.sum")
	sum, err := os.ReadFile(name) //nolint:gosec // ours
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(withSums(string(sum), lines)), 0o644); err != nil { //nolint:gosec // as git has it
		return err
	}
	_, err = r.git(ctx, "commit", "--quiet", "--all", "--amend", "--no-edit")
	return err
}

// sums returns the lines of a go.sum for m.
func (r *repo) sums(m module, version string) ([]string, error) {
	scratch, err := os.MkdirTemp("", "leat-sums-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	name := filepath.Join(scratch, "module.zip")
	mod, err := r.zip(m, version, name)
	if err != nil {
		return nil, err
	}
	sum, err := dirhash.HashZip(name, dirhash.Hash1)
	if err != nil {
		return nil, err
	}
	goMod, err := dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(mod)), nil })
	if err != nil {
		return nil, err
	}
	return []string{
		fmt.Sprintf("%s %s %s\n", m.path, version, sum),
		fmt.Sprintf("%s %s/go.mod %s\n", m.path, version, goMod),
	}, nil
}

// zip writes a module proxy's zip file of m as of HEAD, and returns the go.mod of m.
func (r *repo) zip(m module, version, name string) (goMod []byte, err error) {
	to, err := os.Create(name) //nolint:gosec // the caller's
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	subdir := strings.TrimPrefix(m.dir, ".")
	if err := zip.CreateFromVCS(to, modversion.Version{Path: m.path, Version: version}, r.root, "HEAD", subdir); err != nil {
		return nil, err
	}
	return os.ReadFile(r.file(m.dir, "go.mod"))
}
