package snippets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// documents returns README.md, SECURITY.md and all that is in docs/, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, file := range append(pages(t), "../../README.md", "../../SECURITY.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	return texts
}

// pages returns the paths of all that is in docs/.
func pages(t *testing.T) []string {
	t.Helper()
	users, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	internals, err := filepath.Glob("../../docs/internals/*.md")
	require.NoError(t, err)
	return append(users, internals...)
}

// TestEveryLinkLeadsSomewhere: every link leads to a file that is there, and to a heading that it has.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for file, text := range documents(t) {
		for _, target := range handbook.Links(text) {
			checked++
			path, anchor, _ := strings.Cut(target, "#")
			to := file
			if path != "" {
				to = filepath.Join(filepath.Dir(file), path)
			}
			if !assertExists(t, to, file, target) || anchor == "" {
				continue
			}
			there, err := os.ReadFile(to)
			require.NoError(t, err)
			if !handbook.Anchors(string(there))[anchor] {
				t.Errorf("%s: %s has no heading #%s", file, to, anchor)
			}
		}
	}
	require.Greater(t, checked, 150)
}

// assertExists reports whether a link's file is there.
func assertExists(t *testing.T, to, file, target string) bool {
	t.Helper()
	if _, err := os.Stat(to); err != nil {
		t.Errorf("%s: %s leads nowhere", file, target)
		return false
	}
	return true
}

// TestEveryPageIsInAnIndex: the index for users or the one for maintainers has every page.
func TestEveryPageIsInAnIndex(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	indexes := []string{"../../docs/README.md", "../../docs/internals/README.md"}
	listed := map[string]bool{indexes[0]: true}
	for _, index := range indexes {
		for _, target := range handbook.Links(texts[index]) {
			path, _, _ := strings.Cut(target, "#")
			listed[filepath.Join(filepath.Dir(index), path)] = true
		}
	}
	for _, file := range pages(t) {
		if !listed[file] {
			t.Errorf("%s is in neither of %v", file, indexes)
		}
	}
}
