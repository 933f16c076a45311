package basis_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/basis"
)

// TestO2_Comparisons: what holds is not an error; what does not names the fact, both values and
// what to do.
func TestO2_Comparisons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want string // of the error; "" if the fact holds
	}{
		"the same":     {basis.Same(basis.ErrLogRestarted, "file", 7, 7), ""},
		"another":      {basis.Same(basis.ErrLogRestarted, "file", 7, 8), "file was 7 and is 8"},
		"another text": {basis.Same(basis.ErrLogRestarted, "life", "a", ""), `life was "a" and is ""`},
		"a long text":  {basis.Same(basis.ErrLogRestarted, "life", strings.Repeat("a", 200), ""), `life was "` + strings.Repeat("a", 100) + `" and`},
		"as far":       {basis.Reached(basis.ErrWentBack, "number", 7, 7), ""},
		"further":      {basis.Reached(basis.ErrWentBack, "number", 7, 8), ""},
		"back":         {basis.Reached(basis.ErrWentBack, "number", 8, 7), "number 8 was reached, and it is at 7"},
		"shown":        {basis.Refuse(basis.ErrNumberedTwice, "by a row"), "by a row"},
	} {
		if c.want == "" {
			require.NoError(t, c.err, name)
			require.False(t, basis.IsMoved(c.err), name)
			continue
		}
		require.ErrorContains(t, c.err, c.want, name)
		require.True(t, basis.IsMoved(fmt.Errorf("wrapped: %w", c.err)), name)
		fact, ok := errors.AsType[*basis.FactError](c.err)
		require.True(t, ok, name)
		require.ErrorIs(t, c.err, fact, name)
		require.Equal(t, fact.Error()+": ", c.err.Error()[:len(fact.Error())+2], name)
		require.True(t, strings.HasSuffix(c.err.Error(), ": "+fact.Do), name)
	}
	require.False(t, basis.IsMoved(errors.ErrUnsupported))
}

// TestO2_Topics: fewer topics are refused while messages of the others wait.
func TestO2_Topics(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		then, now      []string
		same           bool
		leaves, passes []string // of the topics a and b
	}{
		{nil, nil, true, nil, nil},
		{nil, []string{"x", "*"}, true, nil, nil},
		{[]string{"a", "b"}, []string{"b", "a", "b"}, true, nil, nil},
		{nil, []string{"a"}, false, []string{"b"}, nil},
		{[]string{"a"}, []string{"a*"}, false, nil, nil},
		{[]string{"a"}, []string{"b"}, false, []string{"a"}, []string{"b"}},
		{[]string{"b"}, nil, false, nil, []string{"a"}},
	} {
		change := basis.Topics{Group: "g", Then: c.then, Now: c.now}
		require.Equal(t, c.same, basis.SameTopics(c.then, c.now), change)
		var leaves, passes []string
		for _, topic := range []string{"a", "b"} {
			if change.Leaves(topic) {
				leaves = append(leaves, topic)
			}
			if change.Passes(topic) {
				passes = append(passes, topic)
			}
		}
		require.Equal(t, c.leaves, leaves, change)
		require.Equal(t, c.passes, passes, change)
		require.NoError(t, change.Err())
		change.Left = 3
		require.ErrorIs(t, change.Err(), basis.ErrOtherTopics)
		require.ErrorContains(t, change.Err(), ": 3 wait: ")
	}
}

// TestFacts: each says what is wrong and what to do, and where it is compared.
func TestFacts(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, f := range basis.Facts() {
		require.False(t, names[f.Name], f.Name)
		names[f.Name] = true
		require.NotEmpty(t, f.Says, f.Name)
		require.NotEmpty(t, f.Do, f.Name)
		require.NotEmpty(t, f.Uses, f.Name)
		for _, u := range f.Uses {
			require.NotEmpty(t, u.At, f.Name)
			got, ok := f.In(u.Store)
			require.True(t, ok)
			require.Equal(t, u, got)
		}
		_, ok := f.In("nowhere")
		require.False(t, ok)
	}
}

// TestO2_HoldingCostsNothing: a page is compared without an allocation.
//
//nolint:paralleltest // others would be counted
func TestO2_HoldingCostsNothing(t *testing.T) {
	life, number := strings.Repeat("a", 36), int64(1)<<40
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if basis.Same(basis.ErrLogRestarted, "life", life, life) != nil || basis.Reached(basis.ErrWentBack, "number", number, number+1) != nil {
			panic("it holds")
		}
	}))
}
