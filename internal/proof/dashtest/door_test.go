package dashtest_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// door is a handler in front of a dashboard that records changing requests and open streams.
type door struct {
	next http.Handler

	mu      sync.Mutex
	arrived []arrival
	streams int
	// pages are those of others that browsers find under this address.
	pages map[string]string
}

// arrival is a request other than GET, with the status of its answer.
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

// put makes a foreign page available at path.
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

// watched returns the number of open streams.
func (d *door) watched() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.streams
}

// came returns the requests since the last call.
func (d *door) came() []arrival {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := slices.Clone(d.arrived)
	d.arrived = nil
	return all
}

// answer records the status of an answer.
type answer struct {
	http.ResponseWriter

	status int
}

func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the underlying writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
