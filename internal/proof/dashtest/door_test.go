package dashtest_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// door is before a dashboard, and sees what comes and goes.
type door struct {
	next http.Handler

	mu      sync.Mutex
	arrived []arrival
	streams int
	// pages are those of others that browsers find under this address.
	pages map[string]string
}

// arrival is a request that would change something, and how it was answered.
type arrival struct {
	path, host, site string
	status           int
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if page, ok := d.page(r); ok {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!DOCTYPE html><html lang=en><meta charset=utf-8><title>x</title><link rel=icon href='data:,'><main><h1>Win a phone</h1>" + page))
		return
	}
	streams := strings.HasSuffix(r.URL.Path, "/stream")
	if streams {
		d.watch(1)
		defer d.watch(-1)
	}
	heard := &answer{ResponseWriter: w}
	d.next.ServeHTTP(heard, r)
	if r.Method == http.MethodGet {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.arrived = append(d.arrived, arrival{r.Method + " " + r.URL.Path, r.Host, r.Header.Get("Sec-Fetch-Site"), heard.status})
}

func (d *door) page(r *http.Request) (string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	page, ok := d.pages[r.URL.Path]
	return page, ok
}

// put shows a page of others.
func (d *door) put(path, page string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pages := maps.Clone(d.pages)
	if pages == nil {
		pages = map[string]string{}
	}
	pages[path] = page
	d.pages = pages
}

func (d *door) watch(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams += n
}

// watched is how many streams are open.
func (d *door) watched() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.streams
}

// came are the requests that came since the last call.
func (d *door) came() []arrival {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.arrived)
	d.arrived = nil
	return all
}

// answer hears the status of an answer.
type answer struct {
	http.ResponseWriter

	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
