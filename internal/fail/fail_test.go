package fail_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/fail"
)

var errWrong = errors.New("wrong")

func TestCaughtReturnsTheErrorOfTheCheck(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		check func()
		want  string
	}{
		"If":         {func() { fail.If(errWrong) }, "wrong"},
		"If where":   {func() { fail.If(errWrong, "slot 1", "read") }, "slot 1: read: wrong"},
		"IfAny":      {func() { fail.IfAny(nil, errWrong, nil) }, "wrong"},
		"Now":        {func() { fail.Now(errWrong) }, "wrong"},
		"With":       {func() { fail.With("page %d: %w", 2, errWrong) }, "page 2: wrong"},
		"In":         {func() { fail.In("after a crash", func() { fail.If(errWrong) }) }, "after a crash: wrong"},
		"In in In":   {func() { fail.In("a", func() { fail.In("b", func() { fail.With("c: %w", errWrong) }) }) }, "a: b: c: wrong"},
		"deep calls": {func() { func() { func() { fail.If(errWrong) }() }() }, "wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := false
			err := fail.Caught(func() {
				c.check()
				ran = true
			})
			require.EqualError(t, err, c.want)
			require.ErrorIs(t, err, errWrong)
			require.False(t, ran, "the check goes on after it has failed")
		})
	}
}

func TestCaughtReturnsNilAfterTheEnd(t *testing.T) {
	t.Parallel()
	steps := 0
	err := fail.Caught(func() {
		fail.If(nil, "nothing is wrong")
		fail.IfAny()
		fail.IfAny(nil, nil)
		fail.In("a step", func() { steps++ })
		steps++
	})
	require.NoError(t, err)
	require.Equal(t, 2, steps)
}

func TestOtherPanicsGoOn(t *testing.T) {
	t.Parallel()
	require.PanicsWithValue(t, "a bug", func() {
		_ = fail.Caught(func() { fail.In("a step", func() { panic("a bug") }) })
	})
	require.PanicsWithError(t, "wrong", func() {
		_ = fail.Caught(func() { panic(errWrong) })
	})
}
