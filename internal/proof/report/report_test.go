package report_test

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/history"
	"github.com/leat-go/leat/internal/proof/report"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// madeUp returns a run in which every figure is different, so that none can be mistaken for another.
func madeUp() report.Run {
	r := report.Run{
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), Seconds: 754, Seed: 8001, Command: "soak -for 12m",
		Machine:   "linux/amd64, 2 cores",
		Services:  []report.Service{{Name: "PostgreSQL", Version: "15.9"}, {Name: "Apache Kafka", Version: "4.1.1"}},
		Processes: []report.Role{{Name: "relay", Running: 17, Starts: 4018}},
		Faults: []history.FaultCount{
			{
				Point: "relay/mid_batch", Kind: "exit", Injected: 1201, Counted: 1102,
				Consequences: map[string]int{"takeover": 1003, "restart": 99},
			},
			{Point: "postgres", Kind: "crash", Injected: 4},
			{Point: "postgres", Kind: "kill", Injected: 100, Counted: 5},
			{Point: "postgres", Kind: "terminate", Injected: 200, Counted: 200},
		},
		Verdict: history.Verdict{
			Input: history.Input{Files: 7, Lines: 9_000_019, Torn: 36, Starts: 47},
			Figures: history.Figures{
				Events: 1_100_020, Committed: 1_000_021, RolledBack: 99_922, Unknown: 4023, Records: 2_012_024,
				Repeats: 5025, DerivedEvents: 990_026, Waiting: 127, Deliveries: 1_005_028, Redeliveries: 6029,
				Effects: 1_000_330, AllowedRepeats: 131,
			},
		},
		Controls:   []report.Control{{Name: "no-inbox", Violated: []string{history.I1, history.Conservation}}},
		Models:     []report.Model{{Name: "window cursor", States: 416_078, Transitions: 2_000_079, Controls: 6, Caught: 6}},
		Simulation: &report.Simulation{Seeds: 5080, Events: 60_081, Faults: 70_082, Controls: 4, Caught: 4},
		Mutations:  &report.Mutations{Mutants: 33, Killed: 33},
	}
	for i, name := range []string{history.O2, history.O3, history.O5, history.I1} {
		r.Verdict.Checks = append(r.Verdict.Checks, history.Finding{Name: name, Promise: "promise of " + name, Checked: 1_000_200 + i})
	}
	for i := range 754 {
		r.Samples = append(r.Samples, report.Sample{
			T: float64(i + 1), Enqueued: 1500, Published: 1400 + float64(i%7), Effects: 1300, LagMS: float64(i % 90 * 20),
		})
		r.Marks = append(r.Marks, report.Mark{T: float64(i), Point: "relay/mid_batch", Kind: "exit"})
	}
	return r
}

// write writes the report of the run and returns its folder and the text of its page.
func write(t *testing.T, r report.Run) (docs, page string) {
	t.Helper()
	docs = t.TempDir()
	require.NoError(t, report.Write(docs, r))
	b, err := os.ReadFile(filepath.Join(docs, "reliability.md"))
	require.NoError(t, err)
	return docs, string(b)
}

func TestTheReportHasTheFiguresOfTheRun(t *testing.T) {
	t.Parallel()
	_, page := write(t, madeUp())
	for _, text := range []string{
		"**1,000,021 events were committed while 1,307 faults struck at 2 points, in 3 pairs of point and kind:\n0 lost, 0 doubled, 0 phantom, 0 inverted.**",
		"| **O2** | promise of O2 | 1,000,200 | 0 |",
		"| **I1** | promise of I1 | 1,000,203 | 0 |",
		"| started | 2026-03-01 12:00:00 UTC |", "| took | 12m34s |", "| seed | 8001 |", "| command | `soak -for 12m` |",
		"| PostgreSQL | 15.9 |", "| Apache Kafka | 4.1.1 |", "| processes: relay | 17 at a time, 4,018 started |",
		"| events | 1,100,020 |", "| of them repeats | 5,025 |", "| of them again | 6,029 |", "| effects | 1,000,330 |",
		"| of them torn by the end of a process | 36 |",
		"1,307 of\n1,505 count",
		"| `relay/mid_batch` | exit | 1,201 | 1,102 | restart 99, takeover 1003 |",
		"| **all** | | **1,505** | **1,307** | |",
		"| `relay/drop_waits` | – | 0 | 0 |  |", "The point where fewest count is `consumer/ack_lost`: 0.",
		"| no-inbox | I1, conservation |",
		"| model: window cursor | 416,078 states, 2,000,079 transitions | 0 | 6 of 6 |",
		"| simulation | 5,080 seeds, 60,081 events, 70,082 faults | 0 | 4 of 4 |",
		"| mutations | 33 mutants | – | 33 of 33 |",
		"reliability/throughput.svg", "reliability/lag.svg", "make proof", "make soak",
	} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, "<no value>")
}

// Every figure of the page comes from the stored run next to it.
func TestTheReportCanBeWrittenAgainFromItsRun(t *testing.T) {
	t.Parallel()
	docs, page := write(t, madeUp())
	r, err := report.Load(filepath.Join(docs, "reliability", "run.json"))
	require.NoError(t, err)
	require.Len(t, r.Samples, 600)
	require.Len(t, r.Marks, 600)
	_, again := write(t, r)
	require.Equal(t, page, again)
}

// The daemon's run has a place on the page of the other run. The page keeps it when it is written again.
func TestTheDaemonHasItsPlaceOnThePage(t *testing.T) {
	t.Parallel()
	docs, alone := write(t, madeUp())
	require.NotContains(t, alone, "The daemon in the place of the relays")
	daemon := madeUp()
	daemon.Daemon, daemon.Seed, daemon.Load, daemon.Verdict.Figures.Committed = true, 9009, "7.62", 3_000_021
	require.NoError(t, report.Write(docs, daemon))
	page := func() string {
		b, err := os.ReadFile(filepath.Join(docs, "reliability.md"))
		require.NoError(t, err)
		return string(b)
	}
	both := page()
	for _, text := range []string{
		"**1,000,021 events were committed while", "**3,000,021 events were committed while 1,307 faults struck at 2 points",
		"| seed | 8001 |", "| seed | 9009 |", "| machine | linux/amd64, 2 cores, load 7.62 |", "| **O2** | 1,000,200 | 0 |",
		"| `postgres` | 304 | 205 |", "| **all** | **1,505** | **1,307** |",
	} {
		require.Contains(t, both, text)
	}
	require.NoError(t, report.Write(docs, madeUp()))
	require.Equal(t, both, page())

	daemon.Verdict.Checks[0].Violations = 2
	require.NoError(t, report.Write(docs, daemon))
	require.Contains(t, page(), "**This run has failed:**\n\n- O2 was violated 2 times")
	require.ErrorIs(t, report.Write(t.TempDir(), daemon), os.ErrNotExist, "there is no page that it belongs to")
}

// onDatabase returns a made-up run on another database, with figures of its own.
func onDatabase(name string, i int) report.Run {
	r := madeUp()
	r.Services[0] = report.Service{Name: name, Version: fmt.Sprintf("%d.7", 40+i)}
	r.Command, r.Seed, r.Load = "soak -store "+strings.ToLower(name), uint64(7000+i), "3.21"
	r.Verdict.Figures.Committed, r.Verdict.Figures.RolledBack = 2_000_000+i, 70+i
	if name != "SQLite" && name != "DynamoDB" {
		r.Faults = append(r.Faults,
			history.FaultCount{Point: "server/" + strings.ToLower(name), Kind: "kill", Injected: 30 + i, Counted: 20 + i},
			history.FaultCount{Point: "server/kafka", Kind: "kill", Injected: 9, Counted: 9})
	}
	r.Controls[0].Violated = []string{history.I1, fmt.Sprintf("check %d", i)}
	return r
}

// A run on another database has its own place on the page, too, and replaces no other run.
func TestOtherDatabasesHaveTheirPlacesOnThePage(t *testing.T) {
	t.Parallel()
	docs, alone := write(t, madeUp())
	daemon := madeUp()
	daemon.Daemon, daemon.Seed = true, 9009
	require.NoError(t, report.Write(docs, daemon))
	for i, name := range []string{"DynamoDB", "SQLite", "MySQL", "MariaDB"} { // in another order than the page's
		require.NoError(t, report.Write(docs, onDatabase(name, i)))
	}
	b, err := os.ReadFile(filepath.Join(docs, "reliability.md"))
	require.NoError(t, err)
	page := string(b)
	var places []string
	for _, heading := range []string{"## The daemon in the place of the relays", "## On MySQL", "## On MariaDB", "## On SQLite", "## On DynamoDB", "## The other proofs"} {
		place, rest, ok := strings.Cut(page, heading)
		require.True(t, ok, "%s is not there, or in another order", heading)
		require.NotContains(t, rest, heading)
		places, page = append(places, place), rest
	}
	own, _, _ := strings.Cut(alone, "## The other proofs")
	require.Equal(t, own, places[0], "the page's own run is as it was")
	for i, c := range []struct{ name, committed, version, kills string }{
		{"MySQL", "2,000,002", "42.7", "22"}, {"MariaDB", "2,000,003", "43.7", "23"}, {"SQLite", "2,000,001", "41.7", ""}, {"DynamoDB", "2,000,000", "40.7", ""},
	} {
		store, place := strings.ToLower(c.name), places[2+i]
		for _, text := range []string{
			"[all figures](reliability/" + store + ".json)", "**" + c.committed + " events were committed while",
			"| command | `soak -store " + store + "` |", "| machine | linux/amd64, 2 cores, load 3.21 |",
			"| " + c.name + " | " + c.version + " |", "| Apache Kafka | 4.1.1 |", "| **O2** | 1,000,200 | 0 |",
			"| events | 1,100,020, of them rolled back 7", "Convicted controls: no-inbox by I1, check ",
		} {
			require.Contains(t, place, text, c.name)
		}
		require.NotContains(t, place, "| PostgreSQL |")
		require.NotContains(t, place, "daemon")
		require.Equal(t, c.kills != "", strings.Contains(place, "| kills of the database's server that count | "+c.kills+" |"), c.name)
		saved, err := report.Load(filepath.Join(docs, "reliability", store+".json"))
		require.NoError(t, err)
		require.Equal(t, c.name, saved.Services[0].Name)
	}
	main, err := report.Load(filepath.Join(docs, "reliability", "run.json"))
	require.NoError(t, err)
	require.EqualValues(t, 8001, main.Seed, "none has taken the place of the page's run")
}

func TestARunHasNoPlaceElsewhere(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	stranger := madeUp()
	stranger.Services[0].Name = "Oracle"
	require.ErrorContains(t, report.Write(docs, stranger), "must have one of")
	require.ErrorIs(t, report.Write(docs, onDatabase("MySQL", 1)), os.ErrNotExist, "there is no page that it belongs to")
	left, err := os.ReadDir(filepath.Join(docs, "reliability"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestThePlotsShowSeriesAndFaults(t *testing.T) {
	t.Parallel()
	docs, _ := write(t, madeUp())
	for name, texts := range map[string][]string{
		"throughput.svg": {"events a second", "enqueued", "published", "applied", "fault", "seconds"},
		"lag.svg":        {"lag in milliseconds", "lag", "fault", "seconds"},
	} {
		b, err := os.ReadFile(filepath.Join(docs, "reliability", name))
		require.NoError(t, err)
		wellFormed(t, string(b))
		for _, text := range texts {
			require.Contains(t, string(b), ">"+text+"</text>", name)
		}
		require.Less(t, len(b), 400_000, name)
		strokes := regexp.MustCompile(`<path `).FindAllString(string(b), -1)
		require.Greater(t, len(strokes), 600, "a stroke for each mark that is shown")
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

// However many faults there are, rare ones appear in the plots.
func TestRareFaultsAreNotThinnedOut(t *testing.T) {
	t.Parallel()
	r := madeUp()
	for i := range 5000 {
		r.Marks = append(r.Marks, report.Mark{T: float64(i) / 10, Point: "relay/after_fetch", Kind: "exit"})
	}
	for i := range 7 {
		r.Marks = append(r.Marks, report.Mark{T: float64(i * 100), Point: "kafka", Kind: "kill"})
	}
	docs, _ := write(t, r)
	thin, err := report.Load(filepath.Join(docs, "reliability", "run.json"))
	require.NoError(t, err)
	require.Len(t, thin.Marks, 600)
	require.True(t, slices.IsSortedFunc(thin.Marks, func(a, b report.Mark) int { return cmp.Compare(a.T, b.T) }))
	rare := slices.DeleteFunc(thin.Marks, func(m report.Mark) bool { return m.Point != "kafka" })
	require.Len(t, rare, 7)
}

func TestAFailedRunSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*report.Run)
		says  string
	}{
		"a violation": {func(r *report.Run) {
			r.Verdict.Checks[0].Violations = 12
			r.Verdict.Checks[0].First = &history.Offence{Summary: "e-1 was lost", Lines: []string{"line one", "line two"}}
		}, "O2 was violated 12 times: promise of O2"},
		"a control that passed":    {func(r *report.Run) { r.Controls[0].Violated = nil }, "the control no-inbox was not convicted"},
		"a mutant that survived":   {func(r *report.Run) { r.Mutations.Killed-- }, "1 of 33 mutants survived"},
		"a model that is violated": {func(r *report.Run) { r.Models[0].Violations = 1 }, "the model window cursor has 1 violations"},
		"a control of a model":     {func(r *report.Run) { r.Models[0].Caught-- }, "caught 5 of 6 controls"},
		"a seed that failed":       {func(r *report.Run) { r.Simulation.Violations = 2 }, "the simulation failed on 2 seeds"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := madeUp()
			require.True(t, r.OK())
			c.spoil(&r)
			require.False(t, r.OK())
			_, page := write(t, r)
			require.Contains(t, page, "**This run has failed:**")
			require.Contains(t, page, c.says)
			require.NotContains(t, page, "0 lost")
			for _, f := range r.Verdict.Checks {
				if f.First != nil {
					require.Contains(t, page, "> e-1 was lost\n\n```text\nline one\nline two\n```")
				}
			}
		})
	}
}

func TestWhatWasNotJudgedIsNotPromised(t *testing.T) {
	t.Parallel()
	r := madeUp()
	r.Verdict.Checks[0] = history.Finding{Name: history.O2, Promise: "no loss", Unjudged: "there is no dump"}
	r.Samples, r.Controls, r.Models, r.Simulation, r.Mutations = nil, nil, nil, nil, nil
	docs, page := write(t, r)
	require.NotContains(t, page, "0 lost")
	require.Contains(t, page, "| not judged: there is no dump | – |")
	require.NotContains(t, page, ".svg")
	require.NotContains(t, page, "## Controls")
	_, err := os.Stat(filepath.Join(docs, "reliability", "lag.svg"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestPagesAreLinkedWhereTheyAre(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(docs, "models.md"), nil, 0o600))
	require.NoError(t, report.Write(docs, madeUp()))
	b, err := os.ReadFile(filepath.Join(docs, "reliability.md"))
	require.NoError(t, err)
	require.Contains(t, string(b), "[models](models.md)")
	require.NotContains(t, string(b), "(mutations.md)")
}

// A point with several kinds counts as one point. A point that was not struck at all counts as the one
// that was struck least.
func TestFaultsAreTotalledByTheirPoints(t *testing.T) {
	t.Parallel()
	r := madeUp()
	require.Equal(t, history.FaultTotals{
		Injected: 1505, Counted: 1307, Points: 2, Pairs: 3, LeastAt: "consumer/ack_lost",
	}, r.FaultTotals())
	for _, name := range failpoint.Names() {
		r.Faults = append(r.Faults, history.FaultCount{Point: string(name), Kind: "error", Injected: 300, Counted: 250})
	}
	require.Equal(t, 205, r.FaultTotals().Least)
	require.Equal(t, "postgres", r.FaultTotals().LeastAt)
}

func TestTheFaultsOfTheVerdictAreTakenWhereTheRunHasNone(t *testing.T) {
	t.Parallel()
	r := madeUp()
	r.Faults, r.Verdict.Faults = nil, []history.FaultCount{{Point: "kafka", Kind: "kill", Injected: 5, Counted: 4}}
	total := r.FaultTotals()
	require.Equal(t, "1 5 4", fmt.Sprint(total.Points, total.Injected, total.Counted))
}
