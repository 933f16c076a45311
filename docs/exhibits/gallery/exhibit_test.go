package gallery_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/stage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side plays nothing and comes to o.
func side(o gallery.Outcome) gallery.Side {
	return func(context.Context, *stage.Stage) (gallery.Outcome, error) { return o, nil }
}

func TestFinding_AnExhibitThatShowsNothingIsOutOfDate(t *testing.T) {
	t.Parallel()
	lost := gallery.Outcome{Lost: 1}
	for name, c := range map[string]struct {
		incumbent, leat gallery.Outcome
		fails, outdated bool
	}{
		"as expected":           {incumbent: lost},
		"incumbent repaired":    {outdated: true},
		"incumbent differs":     {incumbent: gallery.Outcome{Lost: 1, Doubled: 1}, outdated: true},
		"leat loses, too":       {incumbent: lost, leat: lost, fails: true},
		"both not as they were": {leat: gallery.Outcome{Late: 1}, fails: true, outdated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := gallery.Exhibit{Name: "e", Cases: []gallery.Case{
				{Name: "c", Expect: lost, Incumbent: side(c.incumbent), Leat: side(c.leat)},
			}}
			findings, err := e.Play(t.Context(), stage.Silent())
			require.NoError(t, err)
			require.Len(t, findings, 1)
			err = findings[0].Err()
			require.Equal(t, c.fails, errors.Is(err, gallery.ErrLeatFails))
			require.Equal(t, c.outdated, errors.Is(err, gallery.ErrOutOfDate))
		})
	}
}

func TestPlay_ASideThatCannotBePlayedIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no server")
	e := gallery.Exhibit{Name: "e", Cases: []gallery.Case{{
		Name: "c", Incumbent: side(gallery.Outcome{}),
		Leat: func(context.Context, *stage.Stage) (gallery.Outcome, error) { return gallery.Outcome{}, broken },
	}}}
	findings, err := e.Play(t.Context(), stage.Silent())
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "e, c: leat: no server")
	require.Empty(t, findings)
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, gallery.Table(&out, []gallery.Finding{
		{Exhibit: "e", Case: "the first", Incumbent: gallery.Outcome{Lost: 2}, Expect: gallery.Outcome{Lost: 2}},
		{Exhibit: "e", Case: "the second", Incumbent: gallery.Outcome{Doubled: 1}, Expect: gallery.Outcome{Lost: 1}},
	}))
	require.Equal(t, ""+
		"exhibit  case        incumbent  leat  verdict\n"+
		"e        the first   2 lost     -     as expected\n"+
		"e        the second  1 doubled  -     UNEXPECTED\n", out.String())
}
