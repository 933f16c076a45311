package history_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/history"
)

func regexpOf(kind history.Type) *regexp.Regexp {
	return regexp.MustCompile(`^(at the end|\S+) +` + string(kind) + ` `)
}

const (
	intent    = `{"type":"intent","id":"a","key":"k","version":1}` + "\n"
	noRecords = `{"type":"dump","of":"record"}` + "\n"
)

func TestWhatCannotBeJudgedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, says string }{
		{"nothing", "", "no events"},
		{"no one says what should be", `{"type":"record","id":"a"}` + "\n" + `{"type":"dump","of":"record","rows":1}`, "neither intents"},
		{"no one says what is", intent, "neither a dump"},
		{"damage in the midst", intent + "{\"type\":\n" + intent + noRecords, "h.jsonl:2"},
		{"two damaged lines", intent + "{\"type\":\n{\"ty\n", "h.jsonl:2"},
		{"a type that there is not", `{"type":"guess","id":"a"}` + "\n", "no such type"},
		{"no id", `{"type":"intent"}` + "\n", "needs an id"},
		{"a fault without a name", `{"type":"fault"}` + "\n", "needs point"},
		{"both outcomes", `{"type":"committed","id":"a"}` + "\n" + `{"type":"aborted","id":"a"}`, "both"},
		{"a dump without its end", intent + `{"type":"record","id":"a"}` + "\n", "no end"},
		{"a dump that lacks rows", intent + `{"type":"dump","of":"record","rows":2}` + "\n", "says it has 2 rows"},
		{"a dump of nothing", intent + `{"type":"dump","of":"intent"}` + "\n", "no dump of"},
		{"a row twice", `{"type":"ledger","id":"a"}` + "\n" + `{"type":"ledger","id":"a"}`, "two rows"},
		{"waiting where there is no place", `{"type":"waiting","id":"a","where":"lost"}` + "\n", "can't wait"},
		{"too many consumers", manyConsumers(), "more than"},
		{"a line without end", intent + strings.Repeat("x", 2<<20), "h.jsonl:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := checkText(t, c.text)
			require.ErrorIs(t, err, history.ErrUnusable)
			require.ErrorContains(t, err, c.says)
		})
	}
}

func manyConsumers() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `{"type":"delivered","id":"a","consumer":"c-%d"}`+"\n", i)
	}
	return b.String()
}

func TestADirectoryWithoutHistoryIsRefused(t *testing.T) {
	t.Parallel()
	_, err := history.Check(t.Context(), t.TempDir(), history.Options{})
	require.ErrorIs(t, err, history.ErrUnusable)
	_, err = history.Check(t.Context(), filepath.Join(t.TempDir(), "none"), history.Options{})
	require.ErrorIs(t, err, history.ErrUnusable)
}

// The least that can be judged: what was meant, and what came of it.
func TestALittleIsEnough(t *testing.T) {
	t.Parallel()
	v, err := checkText(t, intent+`{"type":"committed","id":"a"}`+"\n"+noRecords)
	require.NoError(t, err)
	require.Equal(t, []string{history.O2}, v.Violated())
	f, ok := v.Finding(history.I1)
	require.True(t, ok)
	require.NotEmpty(t, f.Unjudged)
}

// A process that was killed leaves its last line torn, even in the file of the next.
func TestTornLinesAreCounted(t *testing.T) {
	t.Parallel()
	text := intent + "{\"type\":\"comm\n" + `{"type":"start"}` + "\n" + noRecords + `{"type":"unk`
	v, err := checkText(t, text)
	require.NoError(t, err)
	require.Equal(t, 2, v.Input.Torn)
	require.Equal(t, 1, v.Input.Starts)
}

func checkText(t *testing.T, text string) (history.Verdict, error) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "h.jsonl"), []byte(text), 0o600))
	return history.Check(t.Context(), dir, history.Options{})
}

// Whatever the file holds, it is judged or refused.
func FuzzCheck(f *testing.F) {
	f.Add(intent + noRecords)
	f.Add(`{"type":"effect_row","id":"a","child":"b","consumer":"c"}` + "\n" + `{"type":"dump","of":"effect_row","rows":1}`)
	f.Add("{\n{\"type\":\"start\"}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := checkText(t, text); err != nil {
			require.ErrorIs(t, err, history.ErrUnusable)
		}
	})
}
