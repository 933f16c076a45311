package sinktest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/leat-go/leat/internal/fail"
)

func orderChecks() []Check {
	return []Check{
		{Name: "O5_KeysStayInOrder", run: keysStayInOrder},
		{Name: "O5_OneKeyStaysInOrder", run: oneKeyStaysInOrder},
		{Name: "O5_TopicsAreApart", run: topicsAreApart},
		{Name: "O5_SendsSideBySide", run: sendsSideBySide},
		{Name: "O2_RecordsWithoutKeyArrive", run: recordsWithoutKey},
	}
}

// pages delivers n records over the given number of keys, page by page, and checks that each has
// arrived once.
func (tr *trial) pages(ctx context.Context, n, keys, page int) {
	s := tr.sink()
	for p := range slices.Chunk(tr.records(tr.Topics()[0], n, keys), page) {
		tr.deliver(ctx, s, p)
	}
	tr.once(ctx, n)
}

// once fails unless n records have arrived, each once.
func (tr *trial) once(ctx context.Context, n int) {
	all, err := tr.arrived(ctx)
	fail.If(err)
	if len(all) != n {
		fail.With("%d records have arrived, want %d: each once if nothing fails", len(all), n)
	}
}

func keysStayInOrder(ctx context.Context, tr *trial) { tr.pages(ctx, 1500, 37, 500) }

func oneKeyStaysInOrder(ctx context.Context, tr *trial) { tr.pages(ctx, 60, 1, 20) }

func topicsAreApart(ctx context.Context, tr *trial) {
	s := tr.sink()
	page := tr.records(tr.Topics()[0], 200, 5)
	for i := range page {
		if i%3 == 0 {
			page[i].Topic = tr.Topics()[1]
		}
	}
	tr.deliver(ctx, s, page)
}

func sendsSideBySide(ctx context.Context, tr *trial) {
	const callers, pages, size = 4, 10, 20
	s := tr.sink()
	var errs [callers]error
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for range pages {
				page := tr.records(tr.Topics()[0], size, 3)
				for i := range page {
					page[i].Key = strconv.Itoa(c) + page[i].Key
				}
				errs[c] = errors.Join(errs[c], fail.Caught(func() { tr.deliver(ctx, s, page) }))
			}
		})
	}
	all.Wait()
	fail.IfAny(errs[:]...)
	tr.once(ctx, callers*pages*size)
}

func recordsWithoutKey(ctx context.Context, tr *trial) {
	s := tr.sink()
	page := tr.records(tr.Topics()[0], 200, 5)
	for i := range page {
		if i%2 == 0 {
			page[i].Key = ""
		}
	}
	tr.deliver(ctx, s, page)
	tr.once(ctx, len(page))
}
