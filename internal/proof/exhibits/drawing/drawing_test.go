package drawing_test

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/exhibits/drawing"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDrawingsAreCurrent: what is committed is what the texts yield. `make drawings`
// draws it.
func TestDrawingsAreCurrent(t *testing.T) {
	t.Parallel()
	texts, err := filepath.Glob("../../../../docs/drawings/*.txt")
	require.NoError(t, err)
	require.Len(t, texts, 2)
	for _, path := range texts {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		want, err := drawing.Draw(string(text))
		require.NoError(t, err, path)
		got, err := os.ReadFile(strings.TrimSuffix(path, ".txt") + ".svg")
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), "run make drawings")
		requireXML(t, got)
	}
}

// requireXML fails unless b is well-formed.
func requireXML(t *testing.T, b []byte) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(string(b)))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// TestWindows: a message is read in the window of the first snapshot that sees its
// commit, whatever its number.
func TestWindows(t *testing.T) {
	t.Parallel()
	svg, err := drawing.Draw(`timeline t
message 1 1 6 commit
message 2 2 3 commit
message 3 2 3 rollback
message 4 8 9 commit
other 1 <a & b>
snapshot 4
snapshot 7
`)
	require.NoError(t, err)
	requireXML(t, svg)
	for _, want := range []string{
		">window 1: 2<", ">window 2: 1<", ">rolled back: in no window<", ">not read yet<", ">stays open<", "&lt;a &amp; b&gt;",
	} {
		require.Contains(t, string(svg), want)
	}
}

// TestDarkAndLight: a drawing has colours for both, and a page of its own.
func TestDarkAndLight(t *testing.T) {
	t.Parallel()
	svg, err := drawing.Draw("sequence s\nlane a A\nlane b B\nbox one\na -> b: go\nend\nb -> a: come\nnote later\n")
	require.NoError(t, err)
	requireXML(t, svg)
	require.Contains(t, string(svg), "@media (prefers-color-scheme: dark)")
	require.Contains(t, string(svg), `<rect class="page"`)
	require.Equal(t, 2, strings.Count(string(svg), `class="head"`))
}

// TestTextsThatCannotBeDrawn: a mistake is named by its line.
func TestTextsThatCannotBeDrawn(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "empty",
		"picture p":                              "line 1",
		"timeline t\nmessage 1 2":                "line 2",
		"timeline t\nmessage 1 2 1 commit":       "ascend",
		"timeline t\nmessage 1 1 2 perhaps":      "commit or rollback",
		"timeline t\n\n# x\nsnapshot soon":       "line 4",
		"timeline t\nsnapshot 2\nsnapshot 1":     "ascend",
		"timeline t\nother soon x":               "from",
		"timeline t\nwindow 1":                   "first word",
		"sequence s\nlane a A\na -> b: go":       "no such lane",
		"sequence s\nlane a A\na says hello":     "NAME -> NAME",
		"sequence s\nlane a A\nbox one\nend":     "a box",
		"sequence s\nlane a A\nbox one":          "no end",
		"sequence s\nlane a A\nbox one\nbox two": "a box",
	} {
		_, err := drawing.Draw(text)
		require.ErrorIs(t, err, drawing.ErrText, text)
		require.ErrorContains(t, err, want, text)
	}
}
