package heldqueue

import (
	"cmp"
	"context"
	"slices"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// MaxDueBytes is the size at which an answer of Due ends although more is due. One call of a sink
// can deliver about that much in its time.
const MaxDueBytes = 4 << 20

// Want is a request to Due.
type Want struct {
	// Share is the slot's part.
	Share Share
	// Except are topics to leave out.
	Except []string
	// Limit bounds the records, at least 1.
	Limit int
	// Bytes bounds payloads, keys and headers: the answer ends with the record that fills
	// it.
	Bytes int
}

// Due returns records to try now, ascending in Seq. Each record in state Retry comes with the
// first of those that wait behind it. If more is due than Limit, the records due longest come
// first, so that a key that fails again and again does not keep others out, and the rows behind
// share what is left.
func Due(ctx context.Context, r Reader, want Want) ([]driver.Held, error) {
	if want.Limit < 1 {
		return nil, outbox.ConfigError("limit", want.Limit, "must be positive")
	}
	page, err := r.Due(ctx, DueQuery{By: r.Now(), Share: want.Share, Except: want.Except, Limit: want.Limit})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	firsts := slices.DeleteFunc(slices.Clone(page), func(row Row) bool { return !row.ordered() })
	if each := want.Limit / len(page); len(firsts) > 0 && each > 0 {
		behind, err := r.Behind(ctx, firsts, each)
		if err != nil {
			return nil, err
		}
		page = append(page, behind...)
	}
	slices.SortFunc(page, ascending)
	page = within(page[:min(len(page), want.Limit)], want.Bytes)
	records, err := r.Records(ctx, page)
	if err != nil {
		return nil, err
	}
	attempts := make(map[int64]int, len(page))
	for i := range page {
		attempts[page[i].Seq] = page[i].Attempts
	}
	due := make([]driver.Held, len(records))
	for i := range records {
		due[i] = driver.Held{Record: records[i], Attempts: attempts[records[i].Seq]}
	}
	return due, nil
}

func ascending(a, b Row) int { return cmp.Compare(a.Seq, b.Seq) }

// within returns the first of rows, up to the one that fills bytes.
func within(rows []Row, bytes int) []Row {
	for i := range rows {
		if bytes -= rows[i].Bytes; bytes <= 0 {
			return rows[:i+1]
		}
	}
	return rows
}

// Keys returns the keys that have a held record, in any state. The first of each is retried or
// parked, so rows in state Wait are not read.
func Keys(ctx context.Context, r Reader, share Share) ([]driver.Key, error) {
	rows, err := r.Select(ctx, Query{In: []State{Retry, Parked}, Share: share})
	var set keySet
	for i := range rows {
		set.add(&rows[i])
	}
	return set.keys, err
}
