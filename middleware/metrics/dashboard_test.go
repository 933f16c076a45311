package metrics_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

type dashboard struct {
	UID, Title string
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
	Panels []panel
}

type panel struct {
	Type, Title, Description string
	GridPos                  struct{ H, W, X, Y int }
	Targets                  []struct {
		Expr, LegendFormat string
		Datasource         struct{ UID string }
	}
}

var (
	legendLabels = regexp.MustCompile(`{{\s*(\w+)\s*}}`)
	labelValues  = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
)

// TestDashboard: it asks for names and labels that there are, by the data source and the
// outboxes that its user has chosen, and no panel covers another.
func TestDashboard(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../docs/metrics/dashboard.json")
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(raw, &d))
	require.Equal(t, "leat", d.UID)
	variables := map[string]bool{}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
		if v.Type != "query" {
			continue
		}
		m := labelValues.FindStringSubmatch(v.Definition)
		require.NotNil(t, m, v.Definition)
		q, wrong := parse(m[1])
		require.Empty(t, wrong, v.Definition)
		labels, _, _ := labelsOf(q.metrics[0])
		require.Contains(t, labels, m[2], v.Definition)
	}
	for _, name := range []string{"datasource", "outbox", "group"} {
		require.True(t, variables[name], name)
	}
	used, cells := 0, map[[2]int]string{}
	for _, p := range d.Panels {
		require.NotEmpty(t, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Less(t, x, 24, p.Title)
				require.Empty(t, cells[[2]int{x, y}], "%s covers it", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" {
			p.check(t)
		}
		used += len(p.Targets)
	}
	require.Greater(t, used, 30)
}

// check checks what a panel asks for.
func (p *panel) check(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, p.Description, p.Title)
	require.NotEmpty(t, p.Targets, p.Title)
	for _, target := range p.Targets {
		require.Equal(t, "${datasource}", target.Datasource.UID, p.Title)
		q, wrong := parse(target.Expr)
		require.Empty(t, wrong, "%s: %s", p.Title, target.Expr)
		for _, m := range legendLabels.FindAllStringSubmatch(target.LegendFormat, -1) {
			require.Contains(t, q.labels, m[1], "%s: %s", p.Title, target.LegendFormat)
		}
	}
}

// TestParse_Convicts: what the check of names and labels is there for.
func TestParse_Convicts(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`max(leat_outbox_lags_seconds)`:                                   "leat_outbox_lags_seconds is not in the table",
		`rate(leat_relay_sent_messages{topic="a"}[5m])`:                   "leat_relay_sent_messages is not in the table",
		`max by (group, topic) (leat_outbox_lag_seconds)`:                 "leat_outbox_lag_seconds has no label topic",
		`leat_outbox_lag_seconds{outbox="a",topic="b"} > 0`:               "leat_outbox_lag_seconds has no label topic",
		`sum by (group) (leat_outbox_lag_seconds)`:                        "sum of leat_outbox_lag_seconds counts each replica",
		`avg(leat_outbox_held_messages{state="parked"})`:                  "avg of leat_outbox_held_messages",
		`histogram_quantile(0.9, leat_relay_publish_duration_seconds)`:    "leat_relay_publish_duration_seconds is not in the table",
		`sum by (le) (rate(leat_relay_publish_duration_seconds_sum[5m]))`: "leat_relay_publish_duration_seconds_sum has no label le",
		`vector(1) > 0`: "no metric",
		`leat_outbox_lag_seconds unless leat_outbox_backlog_message offset 1h`: "leat_outbox_backlog_message is not",
	} {
		_, wrong := parse(expr)
		require.NotEmpty(t, wrong, expr)
		require.Contains(t, wrong[0], want)
	}
}
