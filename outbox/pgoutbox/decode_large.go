package pgoutbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// fetchLarge fetches the payloads that a page has left out, as far as there is room, and reports
// whether it cut the page before the first one that did not fit. So a page costs a second round
// trip if it has a payload larger than its share, and the amount is bounded before it is fetched
// (rule N3).
func (p *pageReader) fetchLarge(ctx context.Context, d *decoder) (cut bool, err error) {
	seqs := make([]int64, len(d.absent))
	for i, place := range d.absent {
		seqs[i] = d.records[place].Seq
	}
	rows, end, err := p.rows(ctx, p.large, []any{seqs, max(maxPageBytes-d.size, 1)})
	if err != nil {
		return false, err
	}
	defer func() { _ = end() }() // its error is looked at below, unless there is one already
	var seq int64
	var payload []byte
	got := 0       // places in absent that are decided
	var gone []int // places of records that retention has deleted in the meantime
	_, err = pgx.ForEachRow(rows, []any{&seq, &payload}, func() error {
		for got < len(seqs) && seqs[got] < seq {
			gone = append(gone, d.absent[got])
			got++
		}
		d.records[d.absent[got]].Payload = payload
		d.size += len(payload)
		payload = nil
		got++
		return nil
	})
	if err := errors.Join(err, end()); err != nil {
		return false, err
	}
	if got == 0 {
		gone, got = d.absent, len(d.absent) // the first one fits any page
	}
	if cut = got < len(seqs); cut {
		d.records = d.records[:d.absent[got]]
	}
	d.remove(gone)
	return cut, nil
}

// remove removes the records at places, which ascend, from the page.
func (d *decoder) remove(places []int) {
	if len(places) == 0 {
		return
	}
	kept := d.records[:0]
	for i := range d.records {
		if len(places) > 0 && places[0] == i {
			places = places[1:]
			continue
		}
		kept = append(kept, d.records[i])
	}
	d.records = kept
}
