package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// toy returns a repository of three modules: two that users can require, and their examples.
func toy(t *testing.T) (*repo, *bytes.Buffer) {
	t.Helper()
	root := t.TempDir()
	require3 := "\nrequire (\n\texample.com/toy v0.0.0-00010101000000-000000000000\n\texample.com/toy/sink v0.0.0-00010101000000-000000000000\n)\n"
	for name, text := range map[string]string{
		"go.work":             "go 1.26.0\n\nuse (\n\t.\n\t./examples\n\t./sink\n)\n",
		"go.mod":              "module example.com/toy\n\ngo 1.26.0\n",
		"LICENSE":             "free\n",
		"box/box.go":          "// Package box holds.\npackage box\n\n// Config says how much.\ntype Config struct{ Max int }\n\n// Size is of a box.\nfunc (c Config) Size() int { return c.Max }\n",
		"sink/go.mod":         "module example.com/toy/sink\n\ngo 1.26.0\n\nrequire example.com/toy v0.0.0-00010101000000-000000000000\n",
		"sink/sink.go":        "// Package sink drains.\npackage sink\n\nimport \"example.com/toy/box\"\n\n// Size is of a sink.\nvar Size = box.Config{}.Size()\n",
		"examples/go.mod":     "module example.com/toy/examples\n\ngo 1.26.0\n" + require3,
		"examples/example.go": "// Package examples uses both.\npackage examples\n\nimport _ \"example.com/toy/sink\"\nimport _ \"example.com/toy/box\"\n",
		"docs/versions.md":    "| tier | packages |\n|---|---|\n| *stable* | `box` |\n",
		"CHANGELOG.md":        "# Changelog\n\n## Unreleased\n\n- Boxes.\n\n## v0.0.9 - 2026-01-01\n\n- Nothing.\n",
	} {
		put(t, root, name, text)
	}
	git(t, root, "init", "--quiet", "--initial-branch=main")
	git(t, root, "config", "user.name", "toy")
	git(t, root, "config", "user.email", "toy@invalid")
	git(t, root, "add", "--all")
	git(t, root, "commit", "--quiet", "--message", "toy: make it")
	out := &bytes.Buffer{}
	r, err := find(t.Context(), filepath.Join(root, "sink"), out)
	require.NoError(t, err)
	return r, out
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

func git(t *testing.T, root string, args ...string) string {
	t.Helper()
	text, err := output(t.Context(), root, nil, "git", args...)
	require.NoError(t, err)
	return text
}

func content(t *testing.T, r *repo, name string) string {
	t.Helper()
	text, err := os.ReadFile(r.file(name))
	require.NoError(t, err)
	return string(text)
}

// TestCommit: each released module has a tag, requires its siblings at the version of the release, and has
// the checksums of what a module proxy serves for them.
func TestCommit(t *testing.T) {
	t.Parallel()
	r, _ := toy(t)
	require.NoError(t, r.tidy(t.Context()))
	git(t, r.root, "add", "--all")
	git(t, r.root, "commit", "--quiet", "--message", "toy: tidy")

	require.NoError(t, r.commit(t.Context(), "v0.1.0", time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), nil))

	require.Equal(t, "sink/v0.1.0\nv0.1.0\n", git(t, r.root, "tag", "--list", "--points-at", "HEAD"))
	require.Empty(t, git(t, r.root, "status", "--porcelain"))
	require.Contains(t, content(t, r, "sink/go.mod"), "require example.com/toy v0.1.0\n")
	require.Contains(t, content(t, r, "examples/go.mod"), "example.com/toy/sink v0.1.0\n")
	require.Contains(t, content(t, r, "go.work"), "\texample.com/toy/sink v0.1.0 => ./sink\n")
	require.Contains(t, content(t, r, "CHANGELOG.md"), "## Unreleased\n\n## v0.1.0 - 2026-11-28\n\n- Boxes.\n\n## v0.0.9")

	// The checksums are right: a user of sink builds it from a proxy, against its go.sum.
	proxy := filepath.Join(t.TempDir(), "proxy")
	require.NoError(t, serve(r, proxy))
	env := []string{
		"GOWORK=off", "GOFLAGS=-mod=readonly -modcacherw", "GOPROXY=file://" + filepath.ToSlash(proxy), "GONOSUMDB=example.com/toy",
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "cache"),
	}
	_, err := output(t.Context(), r.file("sink"), env, "go", "build", "./...")
	require.NoError(t, err)

	// A tidy after the release changes nothing.
	again, err := find(t.Context(), r.root, r.out)
	require.NoError(t, err)
	require.NoError(t, again.tidy(t.Context()))
	require.Empty(t, git(t, r.root, "status", "--porcelain"))
}

// TestTidy: a sibling that a source file imports is required, without a replace directive.
func TestTidy(t *testing.T) {
	t.Parallel()
	r, _ := toy(t)
	put(t, r.root, "sink/go.mod", "module example.com/toy/sink\n\ngo 1.26.0\n")

	require.NoError(t, r.tidy(t.Context()))

	require.Equal(t, "module example.com/toy/sink\n\ngo 1.26.0\n\nrequire example.com/toy v0.0.0-00010101000000-000000000000\n", content(t, r, "sink/go.mod"))
	_, err := output(t.Context(), r.root, []string{"GOWORK=" + r.file("go.work"), "GOPROXY=off"}, "go", "build", "./examples/...")
	require.NoError(t, err)
}

// TestRefused: an impossible release is refused with the reason, and leaves no trace.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version string
		spoil   func(t *testing.T, r *repo)
		want    string
	}{
		"no version":     {version: "", want: `version "" is not a full semantic version`},
		"short":          {version: "v0.1", want: `version "v0.1" is not a full semantic version`},
		"build metadata": {version: "v0.1.0+linux", want: `version "v0.1.0+linux" is not a full semantic version`},
		"path":           {version: "v2.0.0", want: "version v2.0.0: a module of v2 has /v2 at the end of its path"},
		"taken by the root": {
			version: "v0.1.0", want: "version v0.1.0 is taken: there is a tag v0.1.0",
			spoil: func(t *testing.T, r *repo) { t.Helper(); git(t, r.root, "tag", "v0.1.0") },
		},
		"taken by another module": {
			version: "v0.1.0", want: "version v0.1.0 is taken: there is a tag sink/v0.1.0",
			spoil: func(t *testing.T, r *repo) { t.Helper(); git(t, r.root, "tag", "sink/v0.1.0") },
		},
		"changed": {
			version: "v0.1.0", want: "the work tree has changes: commit or remove them first:\n M LICENSE",
			spoil: func(t *testing.T, r *repo) { t.Helper(); put(t, r.root, "LICENSE", "dear\n") },
		},
		"untracked": {
			version: "v0.1.0", want: "?? sink/more.go",
			spoil: func(t *testing.T, r *repo) { t.Helper(); put(t, r.root, "sink/more.go", "package sink\n") },
		},
		"nothing to say": {
			version: "v0.1.0", want: `CHANGELOG.md has nothing below "## Unreleased": write what changes`,
			spoil: func(t *testing.T, r *repo) {
				t.Helper()
				put(t, r.root, "CHANGELOG.md", "## Unreleased\n\n## v0.0.9\n\n- Nothing.\n")
				git(t, r.root, "commit", "--quiet", "--all", "--message", "toy: say nothing")
			},
		},
		"an unreleased module is required": {
			version: "v0.1.0", want: "sink/go.mod requires example.com/toy/examples, which is not released",
			spoil: func(t *testing.T, r *repo) {
				t.Helper()
				put(t, r.root, "sink/more.go", "package sink\n\nimport _ \"example.com/toy/examples/more\"\n")
				put(t, r.root, "examples/more/more.go", "package more\n")
				git(t, r.root, "add", "--all")
				git(t, r.root, "commit", "--quiet", "--message", "toy: require examples")
			},
		},
		"stable, and not there": {
			version: "v0.1.0", want: "docs/versions.md calls boxes stable, and there is no such package",
			spoil: func(t *testing.T, r *repo) {
				t.Helper()
				put(t, r.root, "docs/versions.md", "| *stable* | `boxes` |\n")
				git(t, r.root, "commit", "--quiet", "--all", "--message", "toy: misspell")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := toy(t)
			if c.spoil != nil {
				c.spoil(t, r)
			}
			head, tags, status := git(t, r.root, "rev-parse", "HEAD"), git(t, r.root, "tag"), git(t, r.root, "status", "--porcelain")

			require.ErrorContains(t, r.release(t.Context(), c.version), c.want)

			require.Equal(t, head, git(t, r.root, "rev-parse", "HEAD"))
			require.Equal(t, tags, git(t, r.root, "tag"))
			require.Equal(t, status, git(t, r.root, "status", "--porcelain"))
		})
	}
}

// TestCommit_LeavesNothingBehind: if the last tag cannot be created, the commit and the other tags are
// undone.
func TestCommit_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	r, _ := toy(t)
	git(t, r.root, "tag", "sink/v0.1.0")
	head := git(t, r.root, "rev-parse", "HEAD")

	require.ErrorContains(t, r.commit(t.Context(), "v0.1.0", time.Now(), nil), "sink/v0.1.0")

	require.Equal(t, head, git(t, r.root, "rev-parse", "HEAD"))
	require.Equal(t, "sink/v0.1.0\n", git(t, r.root, "tag"))
	require.Empty(t, git(t, r.root, "status", "--porcelain", "--untracked-files=no"))

	git(t, r.root, "tag", "--delete", "sink/v0.1.0")
	err := r.commit(t.Context(), "v0.1.0", time.Now(), func() error { return errUsage })
	require.ErrorIs(t, err, errUsage, "what is published beside the tags could not be written")
	require.Equal(t, head, git(t, r.root, "rev-parse", "HEAD"))
	require.Empty(t, git(t, r.root, "tag"))
}

// TestCheckAPI: a stable package must not break its users, unless the changelog names the break.
func TestCheckAPI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		box, versions, changes string
		want                   []string
	}{
		"the same":         {},
		"more":             {box: "type Config struct{ Max, Min int }\n\nfunc (c Config) Size() int { return c.Max }\n"},
		"less":             {box: "type Config struct{}\n\nfunc (c Config) Size() int { return 0 }\n", want: []string{"box: Config.Max: removed"}},
		"another type":     {box: "type Config struct{ Max int }\n\nfunc (c Config) Size() int64 { return 0 }\n", want: []string{"box: Config.Size: changed from func() int to func() int64"}},
		"less, and said":   {box: "type Config struct{}\n\nfunc (c Config) Size() int { return 0 }\n", changes: "- `box.Config.Max` is gone: boxes grow.\n"},
		"less, said of it": {box: "type Config struct{}\n\nfunc (c Config) Size() int { return 0 }\n", changes: "- `box`: faster.\n- `sink`: no Max.\n", want: []string{"box: Config.Max: removed"}},
		"not stable any more": {
			box: "type Config struct{}\n", versions: "| *stable* | `case` |\n",
			want: []string{"box: Config.Max: removed", "box: Config.Size: removed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := toy(t)
			putTools(t, r)
			require.NoError(t, r.checkAPI(t.Context()))
			require.Equal(t, "API: no release to compare 1 stable packages with\n", out.String())
			git(t, r.root, "tag", "v0.1.0")
			if c.box != "" {
				put(t, r.root, "box/box.go", "package box\n\n"+c.box)
			}
			if c.versions != "" {
				put(t, r.root, "docs/versions.md", c.versions)
				put(t, r.root, "case/case.go", "package box\n")
			}
			put(t, r.root, "CHANGELOG.md", "## Unreleased\n\n"+c.changes+"\n## v0.1.0\n\n- `box.Config.Max` and Size are new.\n")

			err := r.checkAPI(t.Context())

			if c.want == nil {
				require.NoError(t, err)
				require.Contains(t, out.String(), "API: 1 stable packages, compared with v0.1.0\n")
				return
			}
			require.ErrorContains(t, err, "stable packages break users of v0.1.0")
			_, found, _ := strings.Cut(err.Error(), ":\n")
			require.Equal(t, c.want, strings.Split(found, "\n"))
		})
	}
}

// putTools gives r the tools of leat.
func putTools(t *testing.T, r *repo) {
	t.Helper()
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join("../../../../.ci/tools", file))
		require.NoError(t, err)
		put(t, r.root, ".ci/tools/"+file, string(text))
	}
}

// TestMaterials: a bill of materials names its module and the siblings that it uses at the version of the
// release, is reproducible, and has a checksum. Anything missing or wrong is found.
func TestMaterials(t *testing.T) {
	t.Parallel()
	r, out := toy(t)
	putTools(t, r)
	require.NoError(t, r.tidy(t.Context()))
	git(t, r.root, "add", "--all")
	git(t, r.root, "commit", "--quiet", "--message", "toy: tidy")
	require.NoError(t, r.commit(t.Context(), "v0.1.0", time.Now(), nil))
	proxy := filepath.Join(t.TempDir(), "proxy")
	require.NoError(t, serve(r, proxy))
	u := &user{dir: t.TempDir(), version: "v0.1.0", began: time.Now(), out: out, env: []string{
		"GOWORK=off", "GOFLAGS=-modcacherw", "GOPROXY=file://" + filepath.ToSlash(proxy), "GONOSUMDB=example.com/toy",
		"GOMODCACHE=" + filepath.Join(t.TempDir(), "cache"),
	}}
	dir := filepath.Join(t.TempDir(), "dist")
	require.NoError(t, u.materials(t.Context(), r, dir))
	require.NoError(t, u.checkMaterials(r, dir))
	written := map[string]string{}
	for _, name := range []string{"leat.cdx.json", "leat-sink.cdx.json", moduleSums, sums} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		written[name] = string(text)
	}
	require.Contains(t, written["leat-sink.cdx.json"], `"name": "example.com/toy",`)
	require.Equal(t, 3, strings.Count(written[sums], "\n"), written[sums])
	require.NoError(t, u.materials(t.Context(), r, dir))
	for name, text := range written {
		again, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, text, string(again), name)
	}

	for _, c := range []struct{ name, old, now, want string }{
		{"leat.cdx.json", "CycloneDX", "SPDX", `leat.cdx.json: bomFormat is "SPDX"`},
		{"leat.cdx.json", "v0.1.0", "v0.1.1", "leat.cdx.json does not name example.com/toy v0.1.0"},
		{"leat-sink.cdx.json", "example.com/toy@v0.1.0", "example.com/toy@v0.0.9", "leat-sink.cdx.json does not name example.com/toy v0.1.0"},
		{"leat-sink.cdx.json", "{", "", "leat-sink.cdx.json: "},
		{moduleSums, "example.com/toy/sink v0.1.0 h1:", "", "modules.sum has no line for example.com/toy/sink v0.1.0"},
		{sums, "  leat.cdx.json", "  leat.json", "leat.cdx.json is not what SHA256SUMS says of it"},
	} {
		require.Contains(t, written[c.name], c.old)
		put(t, dir, c.name, strings.ReplaceAll(written[c.name], c.old, c.now))
		require.ErrorContains(t, u.checkMaterials(r, dir), c.want)
		put(t, dir, c.name, written[c.name])
	}
	require.NoError(t, u.checkMaterials(r, dir))
}
