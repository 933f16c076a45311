package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
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

// title returns the title of a page.
func title(name string) string {
	return map[string]string{
		"overview": "Overview", "groups": "Groups", "parked": "Parked", "retried": "Retried", "dead": "Dead", "delayed": "Delayed",
		"messages": "Search", "message": "Message", "trace": "Trace", "inboxes": "Inboxes", "consumer": "Consumer",
		"inboxmessage": "Parked message", "retention": "Retention", "audit": "Audit", "confirm": "Confirm", "error": "Error",
	}[name]
}

// parsePages returns the templates of all pages, each with the layout around it, by their format
// of times.
func parsePages() (map[string]map[string]*template.Template, error) {
	all := map[string]map[string]*template.Template{}
	for clock, when := range map[string]func(time.Time) template.HTML{"ago": relative, "utc": utc, "local": utc} {
		pages, err := parseWith(when)
		if err != nil {
			return nil, fmt.Errorf("leat: dashboard: %w", err)
		}
		all[clock] = pages
	}
	return all, nil
}

func parseWith(when func(time.Time) template.HTML) (map[string]*template.Template, error) {
	layout, err := template.New("layout.html").Funcs(template.FuncMap{
		"when": when, "precise": precise, "dur": duration, "size": size, "dict": dict, "num": grouped, "count": count, "middle": middle,
		"holder": holder, "tree": tree, "tabs": tabs, "title": title, "sentence": sentence, "cause": causeOf, "runbook": runbook,
		"places": placesOf, "query": func(pairs ...string) string {
			q := url.Values{}
			for i := 0; i+1 < len(pairs); i += 2 {
				q.Set(pairs[i], pairs[i+1])
			}
			return q.Encode()
		},
	}).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, err
	}
	pages := map[string]*template.Template{}
	files, err := fs.Glob(templateFiles, "templates/*.html")
	if err != nil {
		return nil, err
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
			return nil, err
		}
	}
	return pages, nil
}

// serveStatic serves the files that pages need. They are not secret, and need no sign-in.
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
		w.Header().Set("ETag", etag(body))
		if r.Header.Get("If-None-Match") == etag(body) {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		send(w, r, http.StatusOK, body, true)
		return
	}
	http.NotFound(w, r)
}

// etag returns the ETag of a body, so that browsers need not load it again.
func etag(body []byte) string {
	sum := sha256.Sum256(body)
	return `W/"` + hex.EncodeToString(sum[:8]) + `"`
}
