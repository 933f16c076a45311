package model_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/proof/model"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// jugs is the puzzle of measuring 4 litres with jugs of 3 and 5. The answer and the number of states are
// known.
type jugs struct{ small, large int }

func jugModel() model.Model[jugs] {
	return model.Model[jugs]{
		Start: []jugs{{}},
		Next: func(s jugs, yield func(model.Step, jugs)) {
			yield(model.Step{Who: "small", What: "is filled"}, jugs{3, s.large})
			yield(model.Step{Who: "large", What: "is filled"}, jugs{s.small, 5})
			yield(model.Step{Who: "small", What: "is emptied"}, jugs{0, s.large})
			yield(model.Step{Who: "large", What: "is emptied"}, jugs{s.small, 0})
			n := min(s.small, 5-s.large)
			yield(model.Step{Who: "small", What: "is poured into large"}, jugs{s.small - n, s.large + n})
			n = min(s.large, 3-s.small)
			yield(model.Step{Who: "large", What: "is poured into small"}, jugs{s.small + n, s.large - n})
		},
	}
}

func TestCheck_VisitsEveryState(t *testing.T) {
	t.Parallel()
	m := jugModel()
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.Nil(t, r.Broken)
	require.Equal(t, 16, r.States)
	require.Equal(t, 16*6, r.Transitions)
}

func TestCheck_FindsAShortestTrace(t *testing.T) {
	t.Parallel()
	m := jugModel()
	m.Always = []model.Promise[jugs]{{Name: "F", Says: "never four", Holds: func(s jugs) bool { return s.large != 4 }}}
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Equal(t, "F", r.Broken.Promise)
	require.Len(t, r.Broken.Trace, 6)
	require.Equal(t, "large is filled", r.Broken.Trace[0].String())
	require.Equal(t, "{small:3 large:4}", r.Broken.To)
	require.Contains(t, r.Broken.String(), "   6 large is poured into small\n")
}

func TestCheck_ComparesTheTwoEndsOfAStep(t *testing.T) {
	t.Parallel()
	m := jugModel()
	m.Moves = []model.Move[jugs]{{Name: "M", Says: "nothing is emptied", Holds: func(from, to jugs) bool {
		return to.small+to.large >= from.small+from.large
	}}}
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Equal(t, "M", r.Broken.Promise)
	require.Len(t, r.Broken.Trace, 2)
	require.Equal(t, "small is emptied", r.Broken.Trace[1].String())
}

func TestCheck_ShowsHowItGoesRound(t *testing.T) {
	t.Parallel()
	m := model.Model[int]{
		Start: []int{0},
		Next: func(s int, yield func(model.Step, int)) {
			yield(model.Step{Who: "clock", What: "ticks", Outside: s == 0}, [...]int{1, 2, 3, 2}[s])
		},
		Rest:     func(s int) bool { return s == 0 },
		Liveness: "L",
	}
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Equal(t, "L", r.Broken.Promise)
	require.Equal(t, "2", r.Broken.To)
	require.Len(t, r.Broken.Trace, 2)
	require.Len(t, r.Broken.Round, 2, "from two to three and back")
}

// counter returns a model whose number only grows, up to five.
func counter(outside bool) model.Model[int] {
	return model.Model[int]{
		Start: []int{0},
		Next: func(s int, yield func(model.Step, int)) {
			if s < 5 {
				yield(model.Step{Who: "counter", What: "counts to", On: strconv.Itoa(s + 1), Outside: outside}, s+1)
			}
		},
		Rest:     func(s int) bool { return s == 3 },
		Liveness: "L",
	}
}

func TestCheck_FindsWhereRestIsOutOfReach(t *testing.T) {
	t.Parallel()
	m := counter(false)
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Equal(t, "L", r.Broken.Promise)
	require.Len(t, r.Broken.Trace, 5, "from four on, three is out of reach, and five is the end of the road")

	m.Rest = func(s int) bool { return s == 5 }
	r, err = m.Check(t.Context())
	require.NoError(t, err)
	require.Nil(t, r.Broken)
}

func TestCheck_CountsOnNothingOutside(t *testing.T) {
	t.Parallel()
	m := counter(true)
	m.Rest = func(s int) bool { return s == 5 }
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Empty(t, r.Broken.Trace)
}

func TestCheck_LooksAtStatesAtRest(t *testing.T) {
	t.Parallel()
	m := counter(false)
	m.AtRest = []model.Promise[int]{{Name: "R", Says: "rest is at four", Holds: func(s int) bool { return s == 4 }}}
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.NotNil(t, r.Broken)
	require.Equal(t, "R", r.Broken.Promise)
}

func TestCheck_StopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := counter(false)
	_, err := m.Check(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	broken := model.Report{Broken: &model.Violation{Promise: "O2"}}
	protocol := model.Case{Model: "m", Variant: "v"}
	control := model.Case{Model: "m", Variant: "v", Breaks: "O2"}

	require.NoError(t, protocol.Judge(model.Report{}))
	require.ErrorIs(t, protocol.Judge(broken), model.ErrBroken)
	require.ErrorIs(t, protocol.Judge(model.Report{Unseen: []string{"a takeover"}}), model.ErrUnseen)

	require.NoError(t, control.Judge(broken))
	require.ErrorIs(t, control.Judge(model.Report{}), model.ErrNotCaught)
	require.ErrorIs(t, control.Judge(model.Report{Broken: &model.Violation{Promise: "O5"}}), model.ErrNotCaught)
	require.Equal(t, "FAILED", control.Outcome(model.Report{}))
	require.Equal(t, "caught: O2 in 0 steps", control.Outcome(broken))
	require.Equal(t, "holds", protocol.Outcome(model.Report{}))
}

func TestCheck_TellsWhatItHasNotSeen(t *testing.T) {
	t.Parallel()
	m := jugModel()
	m.Sights = []model.Sight[jugs]{
		{Name: "four", Seen: func(s jugs) bool { return s.large == 4 }},
		{Name: "six", Seen: func(s jugs) bool { return s.large == 6 }},
	}
	r, err := m.Check(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"six"}, r.Unseen)
}
