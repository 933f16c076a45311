package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/clocks"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/outbox"
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
	require.NoError(t, hooks.Refuse([]hook{one{}, both{}}, "p", is...))
	for value, stranger := range map[string]hook{"int": 1, "<nil>": nil} {
		err := hooks.Refuse([]hook{one{}, stranger}, "p", is...)
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, "Hooks[1] = "+value+": implements no hook interface of package p")
	}
	require.Len(t, hooks.Only([]hook{one{}, both{}, 1}, hooks.Is[second]), 1)
}

// heard is an alarm hook.
type heard struct{ all []string }

func (h *heard) OnOutboxAlarm(_ context.Context, e outbox.AlarmEvent) {
	h.all = append(h.all, fmt.Sprintf("%s%s %s %t", e.Kind, e.Group, e.Detail, e.Ended))
}

func TestAlarms(t *testing.T) {
	t.Parallel()
	h := &heard{}
	s := hooks.Alarms{Log: slog.Default(), Hooks: []outbox.Hook{h}}
	hears := func(do func(), want ...string) {
		h.all = nil
		do()
		require.Equal(t, want, h.all)
	}
	round := func(complete bool, raised ...outbox.AlarmEvent) func() {
		return func() { s.Round(t.Context(), raised, complete) }
	}
	end := func() { s.End(t.Context()) }
	a, b, c := outbox.AlarmEvent{Kind: "a"}, outbox.AlarmEvent{Kind: "b", Group: "1"}, outbox.AlarmEvent{Kind: "b", Group: "2"}
	hears(round(false, a, b))
	hears(round(false, c)) // it may not have come to raise the others
	a.Detail = "again"
	hears(round(true, a), "b1  true", "b2  true")
	hears(round(true, a))
	hears(end, "a again true")
	hears(end)
	hears(round(true))

	clock := func(err error, want int) func() {
		return func() { require.Len(t, s.Clock(t.Context(), a, err), want) }
	}
	hears(clock(clocks.DoubtError("it jumps"), 1), "a it jumps false")
	hears(clock(errors.New("another"), 0))
	hears(clock(nil, 0), "a it jumps true")
	hears(clock(nil, 0))
}
