package exhibit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	committed := []exhibit.Event{{ID: "a1", Key: "a"}, {ID: "b1", Key: "b"}, {ID: "a2", Key: "a"}, {ID: "b2", Key: "b"}, {ID: "x"}}
	for name, c := range map[string]struct {
		effects []string
		want    exhibit.Outcome
	}{
		"flawless":                      {[]string{"a1", "b1", "a2", "b2", "x"}, exhibit.Outcome{}},
		"keys are independent":          {[]string{"x", "b1", "b2", "a1", "a2"}, exhibit.Outcome{}},
		"lost":                          {[]string{"a1", "a2", "b2"}, exhibit.Outcome{Lost: 2}},
		"doubled":                       {[]string{"a1", "a1", "b1", "a2", "b2", "x", "a1"}, exhibit.Outcome{Doubled: 2}},
		"a repeat does not break order": {[]string{"a1", "b1", "a2", "a1", "b2", "x"}, exhibit.Outcome{Doubled: 1}},
		"one key out of order":          {[]string{"a2", "b1", "a1", "b2", "x"}, exhibit.Outcome{Reordered: 1}},
		"both keys out of order":        {[]string{"x", "b2", "a2", "a1", "b1"}, exhibit.Outcome{Reordered: 2}},
		"never committed":               {[]string{"a1", "b1", "a2", "b2", "x", "z"}, exhibit.Outcome{Doubled: 1}},
		"nothing took effect":           {nil, exhibit.Outcome{Lost: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, exhibit.Judge(committed, c.effects))
		})
	}
}

func TestOutcome_String(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-", exhibit.Outcome{}.String())
	require.Equal(t, "2 lost, 1 late", exhibit.Outcome{Lost: 2, Late: 1}.String())
}
