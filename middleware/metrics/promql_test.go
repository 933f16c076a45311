package metrics_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/leat-go/leat/middleware/metrics"
)

// recorded are the series that the rules record, with their labels.
var recorded = map[string][]string{"leat:fresh:bool": {"outbox", "group"}}

var (
	groupings = regexp.MustCompile(`\b(by|on|ignoring|without|group_left|group_right)\s*\(([^)]*)\)`)
	ranges    = regexp.MustCompile(`\[[^\]]*\]|\boffset\s+\w+`)
	names     = regexp.MustCompile(`([a-zA-Z_:][\w:]*)\s*(\(|\{[^}]*\})?`)
	matchers  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)\s*"[^"]*"`)
	sums      = regexp.MustCompile(`\b(sum|avg|count)\s*(?:by\s*\([^)]*\)\s*)?\(\s*([a-zA-Z_:][\w:]*)`)
)

// operators are words of PromQL that stand where a name could.
var operators = []string{"and", "or", "unless", "bool"}

// query is what an expression of PromQL asks for.
type query struct {
	metrics []string
	labels  []string // by which the result can be told apart, if it groups
}

// labelsOf returns the labels of a series, and its row of the table; none for one that is
// recorded.
func labelsOf(series string) (labels []string, d *metrics.Definition, ok bool) {
	if labels, ok := recorded[series]; ok {
		return labels, nil, true
	}
	for _, d := range metrics.Table() {
		if series == d.Name && d.Kind != metrics.KindHistogram {
			return d.Labels, &d, true
		}
		if d.Kind != metrics.KindHistogram {
			continue
		}
		switch series {
		case d.Name + "_bucket":
			return append(d.Labels, "le"), &d, true
		case d.Name + "_sum", d.Name + "_count":
			return d.Labels, &d, true
		}
	}
	return nil, nil, false
}

// parse takes an expression apart, and returns what is wrong with its names and labels by
// the table. promtool checks the grammar.
func parse(expr string) (q query, wrong []string) {
	if one, other, ok := strings.Cut(expr, "\nor "); ok { // each has labels of its own
		q, wrong = parse(one)
		more, alsoWrong := parse(other)
		q.labels, q.metrics = append(q.labels, more.labels...), append(q.metrics, more.metrics...)
		return q, append(wrong, alsoWrong...)
	}
	for _, m := range sums.FindAllStringSubmatch(expr, -1) {
		if _, d, ok := labelsOf(m[2]); ok && (d == nil || d.Kind == metrics.KindGauge) {
			wrong = append(wrong, fmt.Sprintf("%s of %s counts each replica: take the max first", m[1], m[2]))
		}
	}
	for _, m := range groupings.FindAllStringSubmatch(expr, -1) {
		for label := range strings.SplitSeq(m[2], ",") {
			q.labels = append(q.labels, strings.TrimSpace(label))
		}
	}
	rest := ranges.ReplaceAllString(groupings.ReplaceAllString(expr, " "), " ")
	for _, m := range names.FindAllStringSubmatch(rest, -1) {
		name, after := m[1], m[2]
		if after == "(" || slices.Contains(operators, name) {
			continue
		}
		labels, _, ok := labelsOf(name)
		if !ok {
			wrong = append(wrong, name+" is not in the table")
			continue
		}
		q.metrics = append(q.metrics, name)
		for _, matcher := range matchers.FindAllStringSubmatch(after, -1) {
			if !slices.Contains(labels, matcher[1]) {
				wrong = append(wrong, name+" has no label "+matcher[1])
			}
		}
		for _, label := range q.labels {
			if !slices.Contains(labels, label) {
				wrong = append(wrong, name+" has no label "+label)
			}
		}
	}
	if len(q.metrics) == 0 {
		wrong = append(wrong, "no metric in "+expr)
	}
	return q, wrong
}
