package gate_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/benchmarks/internal/gate"
	"github.com/leat-go/leat/benchmarks/internal/results"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rounds are the values of contenders.
type rounds map[string][]float64

func (r rounds) set() *results.Set {
	set := &results.Set{}
	for contender, values := range r {
		set.Add(series(contender), values...)
	}
	return set
}

func series(contender string) results.Series {
	return results.Series{Benchmark: "A", Contender: contender, Unit: "msg/s"}
}

func TestGates(t *testing.T) {
	t.Parallel()
	seven, ones := []float64{1, 2, 3, 4, 5, 6, 7}, []float64{1, 1, 1, 1, 1, 1, 1} // its median lies from 2 to 6
	for name, c := range map[string]struct {
		gate gate.Gate
		set  rounds
		line string
	}{
		"a median": {
			gate.Gate{Of: series("a"), Goal: 4}, rounds{"a": seven}, "gate P0 x 4 [2, 6] goal 4 ok",
		},
		"a median that is too low": {
			gate.Gate{Of: series("a"), Goal: 4.01}, rounds{"a": seven}, "gate P0 x 4 [2, 6] goal 4.01 open",
		},
		"a median that is too high": {
			gate.Gate{Of: series("a"), Goal: 3, AtMost: true}, rounds{"a": seven}, "gate P0 x 4 [2, 6] goal 3 open",
		},
		"a ratio of the rounds, not of the medians": {
			gate.Gate{Of: series("a"), To: series("b"), Goal: 2},
			rounds{"a": {10, 200, 30}, "b": {5, 10, 30}},
			"gate P0 x 2 [1, 20] goal 2 ok",
		},
		"an interval that is too low": {
			gate.Gate{Of: series("a"), To: series("b"), Goal: 6.1, Close: true},
			rounds{"a": seven, "b": ones},
			"gate P0 x 4 [2, 6] goal 6.1 missed",
		},
		"an interval that reaches the goal": {
			gate.Gate{Of: series("a"), To: series("b"), Goal: 6, Close: true},
			rounds{"a": seven, "b": ones},
			"gate P0 x 4 [2, 6] goal 6 open",
		},
		"an interval that is too high": {
			gate.Gate{Of: series("a"), To: series("b"), Goal: 1.9, Close: true, AtMost: true},
			rounds{"a": seven, "b": ones},
			"gate P0 x 4 [2, 6] goal 1.9 missed",
		},
		"nothing": {
			gate.Gate{Of: series("a"), Goal: 6}, nil, "gate P0 x - goal 6 not measured",
		},
		"no rival": {
			gate.Gate{Of: series("a"), To: series("b"), Goal: 6}, rounds{"a": seven}, "gate P0 x - goal 6 not measured",
		},
		"too few rounds": {
			gate.Gate{Of: series("a"), Goal: 6, Close: true},
			rounds{"a": seven[:6]},
			"gate P0 x - goal 6 not measured: 6 of 7 rounds",
		},
		"zero": {
			gate.Gate{Of: series("a"), AtMost: true}, rounds{"a": {0}}, "gate P0 x 0 [0, 0] goal 0 ok",
		},
	} {
		c.gate.ID, c.gate.Name = "P0", "x"
		outcomes := gate.Judge(c.set.set(), []gate.Gate{c.gate})
		require.Len(t, outcomes, 1)
		require.Equal(t, c.line, outcomes[0].Line(), name)
	}
}

func TestAGateBelowItsGoalDoesNotReadAsIfItMetIt(t *testing.T) {
	t.Parallel()
	o := gate.Judge(rounds{"a": {0.8496}}.set(), []gate.Gate{{ID: "P5", Name: "x-bare", Of: series("a"), Goal: 0.85}})
	require.Equal(t, "gate P5 x-bare 0.8496 [0.8496, 0.8496] goal 0.85 missed", o[0].Line())
}

func TestFigure(t *testing.T) {
	t.Parallel()
	for value, text := range map[float64]string{
		0: "0", 0.85: "0.85", 0.5: "0.5", 1.23456: "1.235", 12.345: "12.35", 112.44: "112.4", 483000.4: "483000", 100: "100",
	} {
		require.Equal(t, text, gate.Figure(value))
	}
}

func TestFloors(t *testing.T) {
	t.Parallel()
	floor := gate.Floor{Name: "forwarder", Series: series("forwarder"), Expected: 2900}
	line := func(values ...float64) string {
		return gate.Check(rounds{"forwarder": values}.set(), []gate.Floor{floor})[0].Line()
	}
	require.Equal(t, "rival forwarder 3100 floor 2030 ok", line(3000, 3100, 9000))
	require.Equal(t, "rival forwarder 2029 floor 2030 missed", line(2029))
	require.Equal(t, "rival forwarder - floor 2030 not measured", line())
}

func TestEveryGateIsThere(t *testing.T) {
	t.Parallel()
	var ids []string
	seen := map[string]bool{}
	for _, g := range gate.All() {
		require.NotContains(t, g.ID+g.Name, " ")
		require.NotEmpty(t, g.Aim)
		require.NotEmpty(t, g.Of.Benchmark)
		require.False(t, seen[g.ID+g.Name], "%s %s", g.ID, g.Name)
		seen[g.ID+g.Name] = true
		if !slices.Contains(ids, g.ID) {
			ids = append(ids, g.ID)
		}
	}
	require.Equal(t, []string{"P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12"}, ids)
}

func TestTheBenchmarksOfTheGates(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(gate.Benchmarks())
	for _, name := range []string{"RelayDrain", "Latency", "Enqueue", "InboxHandler", "InboxQueued", "InboxBatch", "InboxRemembered", "RedisClaim", "Memory", "Backlog"} {
		require.True(t, pattern.MatchString("Benchmark"+name), name)
	}
	require.True(t, pattern.MatchString("BenchmarkDebeziumDrain"))
	require.False(t, pattern.MatchString("BenchmarkInboxHandlers"))
	require.False(t, pattern.MatchString("BenchmarkIdle"))
}
