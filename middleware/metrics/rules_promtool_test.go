package metrics_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/leat-go/leat/internal/testenv"
)

// ruleTests are promtool's tests. What this program does not look into stays as it is.
type ruleTests struct {
	RuleFiles          []string         `yaml:"rule_files"`
	EvaluationInterval string           `yaml:"evaluation_interval"`
	Tests              []map[string]any `yaml:"tests"`
}

// cases returns what a test expects of alerts.
func cases(test map[string]any) []map[string]any {
	var all []map[string]any
	list, _ := test["alert_rule_test"].([]any)
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			all = append(all, c)
		}
	}
	return all
}

// of returns the tests of one alert alone.
func (r ruleTests) of(alert string) ruleTests {
	some := ruleTests{RuleFiles: r.RuleFiles, EvaluationInterval: r.EvaluationInterval}
	for _, test := range r.Tests {
		var mine []any
		for _, c := range cases(test) {
			if c["alertname"] == alert {
				mine = append(mine, c)
			}
		}
		if len(mine) > 0 {
			some.Tests = append(some.Tests, map[string]any{
				"name": test["name"], "interval": test["interval"], "input_series": test["input_series"], "alert_rule_test": mine,
			})
		}
	}
	return some
}

// promtool runs the program in a directory.
func promtool(t *testing.T, dir string, args ...string) (output string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Promtool(t), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestAlerts_Fire plays series against the rules: each alert fires in one case or more, and
// is silent in others.
//
//leat:level 2
func TestAlerts_Fire(t *testing.T) {
	t.Parallel()
	out, err := promtool(t, filepath.Dir(alertsFile), "check", "rules", filepath.Base(alertsFile))
	require.NoError(t, err, out)
	out, err = promtool(t, filepath.Dir(alertsFile), "test", "rules", filepath.Base(alertsTests))
	require.NoError(t, err, out)
	var tests ruleTests
	read(t, alertsTests, &tests)
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		fires, silent := 0, 0
		for _, test := range tests.of(r.Alert).Tests {
			for _, c := range cases(test) {
				if c["exp_alerts"] == nil {
					silent++
				} else {
					fires++
				}
			}
		}
		require.Positive(t, fires, "%s is never expected to fire", r.Alert)
		require.Positive(t, silent, "%s is never expected to be silent", r.Alert)
	}
}

// broken are thresholds and waits that are wrong: what stands in a rule, and instead of it.
var broken = []struct{ alert, old, wrong string }{
	{"LeatStale", "14.4", "500"},
	{"LeatStale", "14.4 * 0.001\nand", "0.001\nand"},
	{"LeatStale", "[1h]", "[5m]"},
	{"LeatStale", "leat_outbox_oldest_waiting_seconds", "leat_outbox_lag_seconds"},
	{"LeatStale", "leat_outbox_oldest_waiting_seconds", `leat_outbox_oldest_waiting_seconds{state="log"}`},
	{"LeatStale", "leat_outbox_oldest_waiting_seconds", `leat_outbox_oldest_waiting_seconds{state!="waiting"}`},
	{"LeatStaleOften", "> 6 *", "> 100 *"},
	{"LeatStaleOften", "> 6 *", "> 0 *"},
	{"LeatFiguresMissing", "leat_outbox_lag_seconds", "leat_outbox_backlog_messages"},
	{"LeatFiguresMissing", "for: 5m", "for: 1h"},
	{"LeatGroupVanished", "unless", "and"},
	{"LeatSamplesFail", "> 0", "> 10"},
	{"LeatSamplesFail", "for: 10m", "for: 0s"},
	{"LeatNoLeader", "== 0", "< 0"},
	{"LeatNoLeader", "max by", "min by"},
	{"LeatPositionUnusable", "== 1", "> 1"},
	{"LeatPositionUnusable", "== 1", ">= 0"},
	{"LeatParked", "> 0", "> 1"},
	{"LeatParked", "> 0", ">= 0"},
	{"LeatParked", `{state="parked"}`, ""},
	{"LeatRetrying", "> 0", "> 1000"},
	{"LeatRetrying", "min_over_time", "max_over_time"},
	{"LeatRetrying", `"retrying"`, `"parked"`},
	{"LeatBreakerOpen", "== 1", "> 1"},
	{"LeatBreakerOpen", "for: 10m", "for: 1m"},
	{"LeatMaintenanceSilent", "> 900", "> 9000"},
	{"LeatMaintenanceSilent", "> 900", "> 300"},
	{"LeatMaintenanceSilent", "max by", "min by"},
	{"LeatInboxMaintenanceSilent", "> 900", "> 9000"},
	{"LeatInboxMaintenanceSilent", "> 900", "> 300"},
	{"LeatHistoryPinned", "== 1", "== 2"},
	{"LeatHistoryPinned", "max by", "min by"},
	{"LeatNoRangeAhead", "== 0", "< 0"},
	{"LeatNoRangeAhead", "== 0", "<= 2"},
	{"LeatClockOff", "> 1", "> 3"},
	{"LeatClockOff", "> 1", ">= 1"},
	{"LeatClockOff", "abs(leat_relay_clock_offset_seconds)", "leat_relay_clock_offset_seconds"},
	{"LeatClockOff", "== 1", "== 2"},
	{"LeatClockOff", `active{kind="clock"}`, `active{kind="busy"}`},
	{"LeatClockOff", "> 0", "> 10"},
	{"LeatClockOff", "[1h]", "[1m]"},
	{"LeatInboxParked", "> 0", "> 3"},
	{"LeatInboxParked", "> 0", ">= 0"},
	{"LeatOffsetsDeleted", "[1h]", "[1m]"},
	{"LeatOffsetsDeleted", " unless leat_source_deleted_offsets_total offset 1h", ""},
	{"LeatOffsetsDeleted", "or\n", "and\n"},
	{"LeatDatabaseWentBack", "[1h]", "[1m]"},
	{"LeatDatabaseWentBack", " unless leat_source_went_back_offsets_total offset 1h", ""},
	{"LeatDatabaseWentBack", "or\n", "and\n"},
}

// TestAlerts_BrokenOnesAreCaught: a threshold, a wait or a matcher that is wrong makes the
// tests of its alert fail.
//
//leat:level 2
func TestAlerts_BrokenOnesAreCaught(t *testing.T) {
	t.Parallel()
	var whole map[string]any
	read(t, alertsFile, &whole)
	var tests ruleTests
	read(t, alertsTests, &tests)
	caught := map[string]bool{}
	for _, b := range broken {
		caught[b.alert] = true
		t.Run(b.alert+" "+b.wrong, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, filepath.Join(dir, "alerts_test.yml"), tests.of(b.alert))
			write(t, filepath.Join(dir, "alerts.yml"), whole)
			breakRule(t, filepath.Join(dir, "alerts.yml"), b.alert, b.old, b.wrong)
			out, err := promtool(t, dir, "test", "rules", "alerts_test.yml")
			require.Error(t, err, "nobody notices %q for %q", b.wrong, b.old)
			require.Contains(t, out, "alertname: "+b.alert)
		})
	}
	for _, r := range rules(t) {
		require.True(t, r.Alert == "" || caught[r.Alert], "%s has no control", r.Alert)
	}
}

func write(t *testing.T, file string, content any) {
	t.Helper()
	raw, err := yaml.Marshal(content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, raw, 0o600))
}

// breakRule replaces what stands in the expression or in the wait of an alert, or in a rule that records. The other
// alerts go: they would be evaluated at each step of a test that asks for none of them.
func breakRule(t *testing.T, file, alert, old, wrong string) {
	t.Helper()
	var f struct {
		Groups []map[string]any
	}
	read(t, file, &f)
	broke := false
	for _, g := range f.Groups {
		list, ok := g["rules"].([]any)
		require.True(t, ok)
		var kept []any
		for _, r := range list {
			r, ok := r.(map[string]any)
			require.True(t, ok)
			expr, ok := r["expr"].(string)
			require.True(t, ok)
			if r["alert"] != alert {
				if r["record"] != nil {
					broke = broke || strings.Contains(expr, old)
					r["expr"] = strings.ReplaceAll(expr, old, wrong)
					kept = append(kept, r)
				}
				continue
			}
			kept = append(kept, r)
			if wait, isWait := strings.CutPrefix(wrong, "for: "); isWait {
				require.Equal(t, old, "for: "+r["for"].(string))
				r["for"], broke = wait, true
				continue
			}
			broke = broke || strings.Contains(expr, old)
			r["expr"] = strings.ReplaceAll(expr, old, wrong)
		}
		g["rules"] = kept
	}
	require.True(t, broke, "%s has no %q", alert, old)
	write(t, file, map[string]any{"groups": f.Groups})
}

// panelVariables are what Grafana puts into the queries of its panels.
var panelVariables = strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h", "${outbox}", "main", "$outbox", "main", "${group}", "default", "$group", "default")

// TestDashboard_Grammar: Prometheus takes the query of each panel, as Grafana asks it. Names and labels are
// looked at by TestDashboard, and TestWatch of make watch asks a Prometheus that has scraped leat.
//
//leat:level 2
func TestDashboard_Grammar(t *testing.T) {
	t.Parallel()
	var d dashboard
	read(t, "../../docs/metrics/dashboard.json", &d) // JSON is YAML
	type recording struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var all []recording
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, recording{"panel:query", panelVariables.Replace(target.Expr)})
			require.NotContains(t, all[len(all)-1].Expr, "$", p.Title)
		}
	}
	check := func(rules []recording) (string, error) {
		file := filepath.Join(t.TempDir(), "panels.yml")
		write(t, file, map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
		return promtool(t, filepath.Dir(file), "check", "rules", "--lint=none", file)
	}
	out, err := check(all)
	require.NoError(t, err, out)
	require.Contains(t, out, "SUCCESS")
	_, err = check([]recording{{"panel:query", "max by (leat_outbox_lag_seconds"}})
	require.Error(t, err)
}
