package hooks_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/hooks"
)

type (
	hook   any
	first  interface{ First() }
	second interface{ Second() }
)

// one is a first hook that says when it is called.
type one struct{ say func() }

func (o one) First() { o.say() }

// both is a first and a second hook.
type both struct{ one }

func (both) Second() {}

func TestCall_APanicIsLoggedAndTheOthersAreCalled(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	calls := 0
	all := []hook{one{func() { panic("on purpose") }}, "no hook", both{one{func() { calls++ }}}, nil}
	call := func() {
		hooks.Call(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), all, func(h first) { h.First() })
	}
	call()
	require.Equal(t, 1, calls)
	require.Contains(t, log.String(), "level=ERROR")
	require.Contains(t, log.String(), `hook=hooks_test.one panic="on purpose" stack=`)

	all = all[1:] // a panic that is under way is not a hook's
	require.PanicsWithValue(t, "another", func() {
		defer call()
		panic("another")
	})
	require.Equal(t, 2, calls)
}

func TestRefuse(t *testing.T) {
	t.Parallel()
	is := []func(any) bool{hooks.Is[first], hooks.Is[second]}
	_, _, reason := hooks.Refuse([]hook{one{}, both{}}, "p", is...)
	require.Empty(t, reason)
	for value, stranger := range map[string]hook{"int": 1, "<nil>": nil} {
		field, got, reason := hooks.Refuse([]hook{one{}, stranger}, "p", is...)
		require.Equal(t, []string{"Hooks[1]", value, "implements no hook interface of package p"}, []string{field, got, reason})
	}
	require.Len(t, hooks.Only([]hook{one{}, both{}, 1}, hooks.Is[second]), 1)
}

func TestStanding(t *testing.T) {
	t.Parallel()
	var s hooks.Standing[string]
	key := func(a string) string { return a[:1] }
	require.Empty(t, s.Round([]string{"a1", "b1"}, key, false))
	require.Empty(t, s.Round([]string{"c1"}, key, false), "it may not have come to raise the others")
	require.Equal(t, []string{"b1", "c1"}, s.Round([]string{"a2"}, key, true))
	require.Empty(t, s.Round([]string{"a3"}, key, true))
	require.Equal(t, []string{"a3"}, s.End())
	require.Empty(t, s.End())
	require.Empty(t, s.Round(nil, key, true))
}
