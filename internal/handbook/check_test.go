package handbook_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// TestPagesFitTheSources: the map has every package, what the pages name is there, and
// every rule and every decision that is cited is defined.
func TestPagesFitTheSources(t *testing.T) {
	t.Parallel()
	wrong, err := handbook.Check(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// sound returns a small tree whose pages fit.
func sound() fstest.MapFS {
	tree := fstest.MapFS{}
	for name, text := range map[string]string{
		"docs/maintaining.md": "# Maintaining\n\n## The map\n\n| package | for | may import | start |\n|---|---|---|---|\n" +
			"| `box` | boxes | nothing | `box.go` |\n\n## A walk\n\n1. `box/box.go` `Box.Put()` then `Open()`.\n",
		"docs/internals/rules.md": "# Rules\n\n| | rule | source | checked |\n|---|---|---|---|\n" +
			"| **O1** | It holds. | design 1.1 | `TestO1_Holds`, `O1_AlsoHolds` |\n| **R3a** | It locks. | here | `make test` |\n",
		"docs/internals/design.md": "# Design\n\n## 1. Topic\n\n### 1.1 First\n\nBecause.\n\n### 1.2 Second\n\nAs decision 1.1 says.\n",
		"docs/guarantees.md":       "| **O1** | It holds. | |\n",
		"CONTRIBUTING.md":          "Run `make test`.\n\n```sh\nmake nothing\n```\n",
		"Makefile":                 "GO ?= go\n\ntest: ## run\n\t@$(GO) test ./...\n",
		"box/box.go": "// Package box rests on design 1.2.\npackage box\n\n// Box is a box.\ntype Box struct{}\n\n" +
			"// Put puts.\nfunc (b *Box) Put() {}\n\n// Open opens.\nfunc Open() string { return \"O1_AlsoHolds\" }\n",
		"box/box_test.go":  "package box\n\nfunc TestO1_Holds() {}\n",
		"box/sql/lock.sql": "-- Locks first (rule R3a).\nSELECT 1\n",
	} {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return tree
}

// TestCheck_ConvictsWhatDoesNotFit changes one thing at a time.
func TestCheck_ConvictsWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	wrong, err := handbook.Check(sound())
	require.NoError(t, err)
	require.Empty(t, wrong)
	for name, c := range map[string]struct{ file, old, new, want string }{
		"package that is not in the map": {"more/more.go", "", "package more\n", "package more is not in the map"},
		"package of somebody's own":      {".idea/more.go", "", "package more\n", ""},
		"package that is gone":           {"docs/maintaining.md", "| `box` |", "| `bag` |", "bag is no package"},
		"package twice":                  {"docs/maintaining.md", "\n\n## A walk", "\n| `box` | again | nothing | `box.go` |\n\n## A walk", "2 times"},
		"row without a start":            {"docs/maintaining.md", "| `box.go` |", "| |", "a row has four cells"},
		"start that is gone":             {"docs/maintaining.md", "| `box.go` |", "| `bag.go` |", "box has no bag.go"},
		"file that is gone":              {"docs/maintaining.md", "1. `box/box.go`", "1. `box/bag.go`", "there is no box/bag.go"},
		"function that is gone":          {"docs/maintaining.md", "`Open()`", "`Close()`", "there is no function Close"},
		"function of another file":       {"box/bag.go", "", "package box\n\nfunc Seal() {}\n", ""},
		"test that is gone":              {"docs/internals/rules.md", "`TestO1_Holds`", "`TestO1_Held`", "there is no test TestO1_Held"},
		"check that is gone":             {"docs/internals/rules.md", "`O1_AlsoHolds`", "`O1_NeverHolds`", "there is no test O1_NeverHolds"},
		"target that is gone":            {"CONTRIBUTING.md", "`make test`", "`make tset`", "make has no target tset"},
		"citation without a rule":        {"box/box.go", "Box is a box", "Box is a box (rule R4)", "R4 is not defined"},
		"test without a rule":            {"box/box_test.go", "TestO1_Holds() {}", "TestO1_Holds() {}\n\nfunc TestN1_Other() {}", "N1 is not defined"},
		"check without a rule":           {"box/box.go", `return "O1_AlsoHolds"`, `return "O1_AlsoHolds" + "Relay_O2_Other"`, "O2 is not defined"},
		"rule that nothing cites":        {"box/sql/lock.sql", "rule R3a", "a rule", "nothing cites R3a"},
		"rule without a source":          {"docs/internals/rules.md", "| here |", "| |", "R3a needs a sentence"},
		"rule twice":                     {"docs/internals/rules.md", "| **R3a** |", "| **O1** |", "O1 is defined twice"},
		"promise to users only":          {"docs/guarantees.md", "**O1**", "**O2**", "docs/guarantees.md: O2 is not defined"},
		"decision that is gone":          {"box/box.go", "design 1.2", "design 1.3", "has no decision 1.3"},
		"decision in a range":            {"docs/internals/design.md", "decision 1.1 says", "decisions 1.1 to 1.9 say", "has no decision 1.9"},
		"decision out of order":          {"docs/internals/design.md", "### 1.2", "### 1.3", "1.3 stands where 1.2 is due"},
		"topic out of order":             {"docs/internals/design.md", "## 1. Topic", "## 2. Topic", "2 stands where 1 is due"},
		"decision without a number":      {"docs/internals/design.md", "### 1.2 Second", "### Second", "a decision without a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := sound()
			file, ok := tree[c.file]
			if !ok {
				file = &fstest.MapFile{}
				tree[c.file] = file
			}
			require.Contains(t, string(file.Data), c.old)
			file.Data = []byte(strings.Replace(string(file.Data), c.old, c.new, 1))
			wrong, err := handbook.Check(tree)
			require.NoError(t, err)
			if c.want == "" {
				require.Empty(t, wrong)
				return
			}
			require.Contains(t, strings.Join(wrong, "\n"), c.want)
		})
	}
}

// TestCheck_SaysWhereAFunctionIs: so that a page is soon adjusted when code has moved.
func TestCheck_SaysWhereAFunctionIs(t *testing.T) {
	t.Parallel()
	tree := sound()
	tree["box/bag.go"] = &fstest.MapFile{Data: []byte("package box\n\nfunc Open() {}\n")}
	tree["box/box.go"].Data = []byte(strings.Replace(string(tree["box/box.go"].Data), "func Open()", "func open()", 1))
	wrong, err := handbook.Check(tree)
	require.NoError(t, err)
	require.Equal(t, []string{"docs/maintaining.md:11: box/box.go does not declare Open; box/bag.go does"}, wrong)
}

// TestCheck_WantsItsPages: without a page there is nothing that could be wrong with it.
func TestCheck_WantsItsPages(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"docs/maintaining.md", "docs/internals/rules.md", "docs/internals/design.md", "CONTRIBUTING.md"} {
		tree := sound()
		delete(tree, page)
		_, err := handbook.Check(tree)
		require.ErrorContains(t, err, page)
	}
}
