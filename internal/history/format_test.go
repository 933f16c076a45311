package history_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

// The example of the documentation is a history, and is convicted of what it says.
func TestTheDocumentedExample(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/internals/history-format.md"))
	require.NoError(t, err)
	dir := t.TempDir()
	w, err := history.Append(filepath.Join(dir, "h.jsonl"), "documentation")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	require.Len(t, blocks, 2)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(blocks[0][1]), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.jsonl"), []byte(blocks[1][1]), 0o600))
	v, err := history.Check(t.Context(), dir, history.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{history.O10}, v.Violated())
}

// The documentation has every type and every field of a line.
func TestTheFormatIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/internals/history-format.md"))
	require.NoError(t, err)
	source, err := os.ReadFile("format.go")
	require.NoError(t, err)
	names := regexp.MustCompile(`(?:json:"|Type = ")(\w+)`).FindAllStringSubmatch(string(source), -1)
	require.Greater(t, len(names), 30)
	for _, name := range names {
		if !strings.HasPrefix(name[1], "note") {
			require.Regexp(t, "[`\"]"+name[1]+"[`\"]", string(page))
		}
	}
}

// What a process before has left torn is ended, and nothing is written over.
func TestAFileIsGoneOnWith(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "p.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"type":"in`), 0o600))
	for range 2 {
		w, err := history.Append(path, "producer")
		require.NoError(t, err)
		require.NoError(t, w.Write(history.Line{Type: history.Intent, ID: "a"}))
		require.NoError(t, w.Close())
	}
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	require.Len(t, lines, 5)
	require.JSONEq(t, `"in"`, `"`+strings.TrimPrefix(lines[0], `{"type":"`)+`"`)
	require.Contains(t, lines[1], `"type":"start"`)
	require.Regexp(t, `"at":\d{16}`, lines[2])
}

// A dump counts its own rows, those of each dump of a file apart.
func TestADumpCountsItsRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.jsonl")
	w, err := history.Dump(path)
	require.NoError(t, err)
	for _, rows := range []int{2, 0, 1} {
		for range rows {
			require.NoError(t, w.Write(history.Line{Type: history.Record, ID: "a"}))
		}
		require.NoError(t, w.End(history.Line{Of: history.Record}))
	}
	require.NoError(t, w.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	counts := regexp.MustCompile(`"rows":(\d)`).FindAllString(string(b), -1)
	require.Equal(t, []string{`"rows":2`, `"rows":1`}, counts)
}

func TestAWriterSaysWhereItCannotWrite(t *testing.T) {
	t.Parallel()
	_, err := history.Append(filepath.Join(t.TempDir(), "none", "p.jsonl"), "relay")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = history.Dump(filepath.Join(t.TempDir(), "none", "d.jsonl"))
	require.ErrorIs(t, err, os.ErrNotExist)
	w, err := history.Dump(filepath.Join(t.TempDir(), "d.jsonl"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Close(), os.ErrClosed)
}
