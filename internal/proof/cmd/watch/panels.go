package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

var errPanel = errors.New("prometheus refuses the query of a panel")

// panelVariables are the values that Grafana puts into the queries of its panels.
//
//nolint:gochecknoglobals // immutable and safe for concurrent use
var panelVariables = strings.NewReplacer("$__rate_interval", "15s", "$outbox", name, "$group", "default")

// panels sends Prometheus the query of each panel of the Grafana dashboard in the directory of the rules,
// as Grafana does, for the time since it began. It returns the number of queries, and the panels that have
// drawn nothing.
func (p *scraper) panels(ctx context.Context, rules string) (asked int, empty []string, err error) {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(rules), "dashboard.json"))
	if err != nil {
		return 0, nil, err
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &board); err != nil {
		return 0, nil, err
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := panelVariables.Replace(target.Expr)
			drawn, err := p.draws(ctx, expr)
			if err != nil {
				return asked, empty, fmt.Errorf("%w: %s: %s: %w", errPanel, panel.Title, expr, err)
			}
			asked++
			if !drawn {
				empty = append(empty, panel.Title+": "+expr)
			}
		}
	}
	return asked, empty, nil
}

var errAnswer = errors.New("is answered by an error")

// draws reports whether an expression has had a value since Prometheus began.
func (p *scraper) draws(ctx context.Context, expr string) (bool, error) {
	query := url.Values{"query": {expr}, "start": {unix(p.began)}, "end": {unix(time.Now())}, "step": {"1"}}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/query_range?"+query.Encode(), nil)
	if err != nil {
		return false, err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return false, err
	}
	defer func() { _ = got.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
		return false, err
	}
	if answer.Status != "success" {
		return false, fmt.Errorf("%w: %s", errAnswer, answer.Error)
	}
	return len(answer.Data.Result) > 0, nil
}

func unix(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
