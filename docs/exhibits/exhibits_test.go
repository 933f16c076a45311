package exhibits_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes"
	"github.com/leat-go/leat/docs/exhibits/stage/stagetest"
)

func TestMain(m *testing.M) { stagetest.Main(m) }

// TestExhibits plays all exhibits, one after the other: a transaction that one of
// them holds open concerns the others, which is what it is about.
func TestExhibits(t *testing.T) {
	t.Parallel()
	s := stagetest.New(t)
	var findings []gallery.Finding
	for _, e := range scenes.All() {
		found, err := e.Play(t.Context(), s)
		require.NoError(t, err)
		findings = append(findings, found...)
	}
	require.Len(t, findings, 19)
	for _, f := range findings {
		require.NoError(t, f.Err())
		require.NotZero(t, f.Incumbent)
		require.Zero(t, f.Leat)
	}
	require.NoError(t, gallery.Table(io.Discard, findings))
}
