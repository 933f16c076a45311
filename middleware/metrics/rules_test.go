package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const (
	alertsFile   = "../../docs/metrics/alerts.yml"
	alertsTests  = "../../docs/metrics/alerts_test.yml"
	runbooksFile = "../../docs/operations.md"
)

// rule is an alert, or a series that is recorded.
type rule struct {
	Alert, Record, Expr string
	Labels, Annotations map[string]string
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

// rules returns all rules of the file.
func rules(t *testing.T) []rule {
	t.Helper()
	var f ruleFile
	read(t, alertsFile, &f)
	var all []rule
	for _, g := range f.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, into), file)
}

var templateLabels = regexp.MustCompile(`\$labels\.(\w+)`)

// TestAlerts_Names: rules ask for names and labels that there are, and texts show labels
// that the alert has.
func TestAlerts_Names(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range rules(t) {
		q, wrong := parse(r.Expr)
		require.Empty(t, wrong, "%s%s", r.Alert, r.Record)
		if r.Record != "" {
			require.Equal(t, recorded[r.Record], q.labels, r.Record)
			continue
		}
		require.False(t, seen[r.Alert], r.Alert)
		seen[r.Alert] = true
		require.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		labels := q.labels
		if strings.Contains(r.Expr, "leat:fresh:bool") {
			labels = append(labels, recorded["leat:fresh:bool"]...)
		}
		for _, m := range templateLabels.FindAllStringSubmatch(r.Annotations["summary"], -1) {
			require.Contains(t, labels, m[1], r.Alert)
		}
	}
	require.Len(t, seen, 18)
}

// TestAlerts_Runbooks: each alert leads to a heading of the page for operators that has its
// name and a text, and each such heading is an alert's.
func TestAlerts_Runbooks(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(runbooksFile)
	require.NoError(t, err)
	runbooks := map[string]bool{}
	for section := range strings.SplitSeq(string(raw), "\n### ") {
		heading, text, _ := strings.Cut(section, "\n")
		if strings.HasPrefix(heading, "Leat") {
			text, _, _ = strings.Cut(text, "\n#")
			runbooks[heading] = len(strings.Fields(text)) > 20
		}
	}
	for _, r := range rules(t) {
		if r.Alert == "" {
			continue
		}
		require.True(t, runbooks[r.Alert], "%s has no runbook, or one that says nothing", r.Alert)
		delete(runbooks, r.Alert)
		require.Equal(t, "https://github.com/leat-go/leat/blob/main/docs/operations.md#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
		for _, c := range r.Alert {
			require.True(t, unicode.IsLetter(c), "a heading's anchor is its name in small letters")
		}
	}
	require.Empty(t, runbooks, "runbooks without an alert")
}
