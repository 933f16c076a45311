package exhibit_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/testbed"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// side returns a side that does nothing and has the outcome o.
func side(o exhibit.Outcome) exhibit.Side {
	return func(context.Context, *testbed.Testbed) (exhibit.Outcome, error) { return o, nil }
}

func TestFinding_AnExhibitThatShowsNothingIsOutOfDate(t *testing.T) {
	t.Parallel()
	lost := exhibit.Outcome{Lost: 1}
	for name, c := range map[string]struct {
		incumbent, leat exhibit.Outcome
		fails, outdated bool
	}{
		"as expected":           {incumbent: lost},
		"incumbent repaired":    {outdated: true},
		"incumbent differs":     {incumbent: exhibit.Outcome{Lost: 1, Doubled: 1}, outdated: true},
		"leat loses, too":       {incumbent: lost, leat: lost, fails: true},
		"both not as they were": {leat: exhibit.Outcome{Late: 1}, fails: true, outdated: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := exhibit.Exhibit{Name: "e", Cases: []exhibit.Case{
				{Name: "c", Expect: lost, Incumbent: side(c.incumbent), Leat: side(c.leat)},
			}}
			findings, err := e.Play(t.Context(), testbed.Silent())
			require.NoError(t, err)
			require.Len(t, findings, 1)
			err = findings[0].Err()
			require.Equal(t, c.fails, errors.Is(err, exhibit.ErrLeatFails))
			require.Equal(t, c.outdated, errors.Is(err, exhibit.ErrOutOfDate))
		})
	}
}

func TestPlay_ASideThatCannotBePlayedIsAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("no server")
	e := exhibit.Exhibit{Name: "e", Cases: []exhibit.Case{{
		Name: "c", Incumbent: side(exhibit.Outcome{}),
		Leat: func(context.Context, *testbed.Testbed) (exhibit.Outcome, error) { return exhibit.Outcome{}, broken },
	}}}
	findings, err := e.Play(t.Context(), testbed.Silent())
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "e, c: leat: no server")
	require.Empty(t, findings)
}

func TestTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, exhibit.Table(&out, []exhibit.Finding{
		{Exhibit: "e", Case: "the first", Incumbent: exhibit.Outcome{Lost: 2}, Expect: exhibit.Outcome{Lost: 2}},
		{Exhibit: "e", Case: "the second", Incumbent: exhibit.Outcome{Doubled: 1}, Expect: exhibit.Outcome{Lost: 1}},
	}))
	require.Equal(t, ""+
		"exhibit  case        incumbent  leat  verdict\n"+
		"e        the first   2 lost     -     as expected\n"+
		"e        the second  1 doubled  -     UNEXPECTED\n", out.String())
}
