package dashboard

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

//go:embed assets/* vendored/*
var staticFiles embed.FS

//go:embed openapi.yaml
var openAPI string

// titles are those of the pages.
func title(name string) string {
	return map[string]string{
		"overview": "Overview", "groups": "Groups", "parked": "Parked", "dead": "Dead", "delayed": "Delayed", "messages": "Search",
		"message": "Message", "trace": "Trace", "inboxes": "Inboxes", "consumer": "Consumer", "inboxmessage": "Parked message",
		"retention": "Retention", "audit": "Audit", "confirm": "Confirm", "error": "Error",
	}[name]
}

// parsePages returns the templates of all pages, each with the layout around it.
func parsePages(base string) (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"when": when, "dur": duration, "size": size, "dict": dict, "int": func(n int64) int { return int(n) },
		"links": func() []string {
			return []string{"overview", "groups", "parked", "dead", "delayed", "messages", "inboxes", "retention", "audit"}
		},
		"title": title, "href": func(name string) string { return base + strings.TrimPrefix(name, "overview") },
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("leat: dashboard: %w", err)
	}
	pages := map[string]*template.Template{}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, fmt.Errorf("leat: dashboard: %w", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(path.Base(file), ".html")
		if name == "layout" || name == "parts" {
			continue
		}
		clone, err := layout.Clone()
		if err == nil {
			pages[name], err = clone.ParseFS(templateFiles, file)
		}
		if err != nil {
			return nil, fmt.Errorf("leat: dashboard: %w", err)
		}
	}
	return pages, nil
}

// dict returns names and values, in turns, as a map.
func dict(pairs ...any) (map[string]any, error) {
	all := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, errors.New("leat: a name is no text")
		}
		all[name] = pairs[i+1]
	}
	return all, nil
}

// when formats a time for readers, in UTC; a script may write it otherwise.
func when(at time.Time) template.HTML {
	if at.IsZero() {
		return "–"
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s">%s</time>`, at.Format(time.RFC3339Nano), at.Format("2006-01-02 15:04:05Z"))) //nolint:gosec // digits
}

// duration formats seconds for readers.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	if d < time.Second {
		d = max(0, d.Round(time.Millisecond))
	} else if d = d.Round(100 * time.Millisecond); d >= time.Minute {
		d = d.Round(time.Second)
	}
	switch text := d.String(); {
	case d == 0:
		return "0"
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d%time.Hour == 0:
		return strings.TrimSuffix(text, "0m0s")
	case d%time.Minute == 0:
		return strings.TrimSuffix(text, "0s")
	default:
		return text
	}
}

// size formats bytes for readers.
func size(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		value, unit = value/1024, next
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", value), ".0") + " " + unit
}

// serveStatic serves the files that pages need. They are no secret, and need no sign-in.
func serveStatic(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	for _, dir := range []string{"assets/", "vendored/"} {
		body, err := staticFiles.ReadFile(dir + name)
		kind := map[string]string{
			".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
		}[path.Ext(name)]
		if err != nil || kind == "" {
			continue
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
		return
	}
	http.NotFound(w, r)
}
