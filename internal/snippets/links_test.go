package snippets_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

var linkPattern = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// prose returns a document without its blocks of code.
func prose(text string) []string {
	var lines []string
	inside := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "```"):
			inside = !inside
		case !inside:
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	return lines
}

// links returns the targets of a document's links that are not on the web.
func links(text string) []string {
	var targets []string
	for _, match := range linkPattern.FindAllStringSubmatch(strings.Join(prose(text), "\n"), -1) {
		if !strings.Contains(match[1], "://") {
			targets = append(targets, match[1])
		}
	}
	return targets
}

// anchors returns what a document's headings are called in links, as GitHub makes it.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, line := range prose(text) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			default:
				return -1
			}
		}, strings.TrimSpace(title))
		for once, n := name, 1; found[name]; n++ {
			name = once + "-" + strconv.Itoa(n)
		}
		found[name] = true
	}
	return found
}

// documents returns README.md, SECURITY.md and all that is in docs/, by path.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files := []string{"../../README.md", "../../SECURITY.md", "../../docs/exhibits/README.md"}
	pages, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range append(files, pages...) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	return texts
}

// TestEveryLinkLeadsSomewhere: every link leads to a file that is there, and to a heading that it has.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for file, text := range documents(t) {
		for _, target := range links(text) {
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
			if !anchors(string(there))[anchor] {
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

// TestEveryPageIsInTheIndex: the index has every page.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	const index = "../../docs/README.md"
	texts := documents(t)
	listed := map[string]bool{}
	for _, target := range links(texts[index]) {
		path, _, _ := strings.Cut(target, "#")
		listed[filepath.Join(filepath.Dir(index), path)] = true
	}
	for file := range texts {
		if file != index && file != "../../README.md" && file != "../../SECURITY.md" && !listed[file] {
			t.Errorf("%s is not in %s", file, index)
		}
	}
}

// TestLinksAndHeadings: links and headings are found as they are written.
func TestLinksAndHeadings(t *testing.T) {
	t.Parallel()
	const text = "# A `b`: c's d\n\nsee [x](y.md#z), [w](https://w.example)\n\n```sh\n# no heading\n[no](link)\n```\n## Twice\n## Twice\n"
	require.Equal(t, []string{"y.md#z"}, links(text))
	require.Equal(t, map[string]bool{"a-b-cs-d": true, "twice": true, "twice-1": true}, anchors(text))
}
