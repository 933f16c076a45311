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
	"strings"
)

var errPanel = errors.New("prometheus refuses the query of a panel")

// panelVariables are the values that Grafana puts into the queries of its panels.
//
//nolint:gochecknoglobals // immutable and safe for concurrent use
var panelVariables = strings.NewReplacer("$__rate_interval", "15s", "$outbox", name, "$group", "default")

// panels sends Prometheus the query of each panel of the Grafana dashboard next to the rules. It returns how many
// there are, and how many of them have values by now: in this program nothing is unavailable, waits behind Kafka or
// was skipped.
func (p *scraper) panels(ctx context.Context, rules string) (asked, drawn int, err error) {
	content, err := os.ReadFile(filepath.Join(filepath.Dir(rules), "dashboard.json"))
	if err != nil {
		return 0, 0, err
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(content, &board); err != nil {
		return 0, 0, err
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			expr := panelVariables.Replace(target.Expr)
			values, err := p.query(ctx, expr)
			if err != nil {
				return asked, drawn, fmt.Errorf("%w: %s: %s: %w", errPanel, panel.Title, expr, err)
			}
			asked++
			if values > 0 {
				drawn++
			}
		}
	}
	return asked, drawn, nil
}

var errAnswer = errors.New("is answered by an error")

// query returns how many values an expression has.
func (p *scraper) query(ctx context.Context, expr string) (values int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/query?query="+url.QueryEscape(expr), nil)
	if err != nil {
		return 0, err
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = got.Body.Close() }()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if err := json.NewDecoder(got.Body).Decode(&answer); err != nil {
		return 0, err
	}
	if answer.Status != "success" {
		return 0, fmt.Errorf("%w: %s", errAnswer, answer.Error)
	}
	return len(answer.Data.Result), nil
}
