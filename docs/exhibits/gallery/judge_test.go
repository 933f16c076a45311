package gallery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/docs/exhibits/gallery"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	committed := []gallery.Event{{ID: "a1", Key: "a"}, {ID: "b1", Key: "b"}, {ID: "a2", Key: "a"}, {ID: "b2", Key: "b"}, {ID: "x"}}
	for name, c := range map[string]struct {
		effects []string
		want    gallery.Outcome
	}{
		"flawless":                      {[]string{"a1", "b1", "a2", "b2", "x"}, gallery.Outcome{}},
		"keys are independent":          {[]string{"x", "b1", "b2", "a1", "a2"}, gallery.Outcome{}},
		"lost":                          {[]string{"a1", "a2", "b2"}, gallery.Outcome{Lost: 2}},
		"doubled":                       {[]string{"a1", "a1", "b1", "a2", "b2", "x", "a1"}, gallery.Outcome{Doubled: 2}},
		"a repeat does not break order": {[]string{"a1", "b1", "a2", "a1", "b2", "x"}, gallery.Outcome{Doubled: 1}},
		"one key out of order":          {[]string{"a2", "b1", "a1", "b2", "x"}, gallery.Outcome{Reordered: 1}},
		"both keys out of order":        {[]string{"x", "b2", "a2", "a1", "b1"}, gallery.Outcome{Reordered: 2}},
		"never committed":               {[]string{"a1", "b1", "a2", "b2", "x", "z"}, gallery.Outcome{Doubled: 1}},
		"nothing took effect":           {nil, gallery.Outcome{Lost: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, gallery.Judge(committed, c.effects))
		})
	}
}

func TestOutcome_String(t *testing.T) {
	t.Parallel()
	require.Equal(t, "-", gallery.Outcome{}.String())
	require.Equal(t, "2 lost, 1 late", gallery.Outcome{Lost: 2, Late: 1}.String())
}
