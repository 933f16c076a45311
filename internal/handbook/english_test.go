package handbook_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// TestEnglish: comments, texts and pages have none of the phrases.
func TestEnglish(t *testing.T) {
	t.Parallel()
	wrong, looked, err := handbook.English(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
	require.Greater(t, looked, 20_000)
}

// TestEnglish_Convicts each phrase where it stands, and leaves sound ones alone.
func TestEnglish_Convicts(t *testing.T) {
	t.Parallel()
	find := func(name, text string) []string {
		wrong, _, err := handbook.English(fstest.MapFS{name: {Data: []byte(text)}})
		require.NoError(t, err)
		return wrong
	}
	for name, text := range map[string]string{
		"box.go":      "package box\n\n// tooLong is no\n// name of a table.\nvar x int\n",
		"text.go":     "package box\n\nvar err = \"it is no name\"\n",
		"help.go":     "package box\n\ntype c struct {\n\tF int `help:\"Also if it fails.\"`\n}\n",
		"nolint.go":   "package box\n\nvar x = 1 //nolint:gosec // it is no secret\n",
		"box_test.go": "package box\n\n// It runs such that nothing fails.\nvar x int\n",
		"box.sql":     "-- All rows but for one.\nSELECT 1\n",
		"page.md":     "# Page\n\nIt says\nwhether it fits.\n",
		"row.md":      "| a row | they were no names |\n",
		"deep.tmpl":   "It runs also if it fails.\n",
	} {
		require.Len(t, find(name, text), 1, name)
	}
	for name, text := range map[string]string{
		"sound.md":       "There is no name. There were no\nnames. It is no longer here. It is no slower.\n",
		"code.md":        "Call `x is no y`.\n\n```\nthis is no text\n```\n",
		"box_test.go":    "package box\n\nvar err = \"it is no name\"\n",
		"testdata/x.md":  "It is no name.\n",
		"picture.svg":    "is no text",
		".idea/notes.md": "It is no name.\n",
	} {
		require.Empty(t, find(name, text), name)
	}
	require.Equal(t, []string{`box.go:3: "tooLong is no name of a table.": say is not a …`},
		find("box.go", "package box\n\n// tooLong is no\n// name of a table.\nvar x int\n"))
}

// begun is the last commit before titles had a form.
const begun = "467527ea"

// TestTitles: commits are called "package: verb what".
func TestTitles(t *testing.T) {
	t.Parallel()
	if exec.CommandContext(t.Context(), "git", "cat-file", "-e", begun+"^{commit}").Run() != nil {
		t.Skip("needs a clone with its history")
	}
	out, err := exec.CommandContext(t.Context(), "git", "log", "--no-merges", "--format=%s", begun+"..HEAD").Output()
	require.NoError(t, err)
	for of := range strings.Lines(string(out)) {
		require.Empty(t, handbook.Title(strings.TrimSpace(of)))
	}
	for of, want := range map[string]bool{
		"outboxtest: report unsupported features": true, "cmd/leat, docs: add a flag": true, "all: follow the linter": true, "leat doctor: want the right": true,
		"Let an outbox say more": false, "outboxtest: let an outbox say more": false, "outboxtest: Report": false, "report features": false,
	} {
		require.Equal(t, want, handbook.Title(of) == "", of)
	}
}
