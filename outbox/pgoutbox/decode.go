package pgoutbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// maxPageBytes is the size at which a page ends although there are more records: memory is
// bounded even if large records follow small ones. The statements of pages contain the same
// number: no page fetches more than that and one record.
const maxPageBytes = 32 << 20

// pageReader reads pages of records on its own connection.
type pageReader struct {
	conn     *pgx.Conn
	pooled   bool   // there is a pooler in front of conn
	settings string // page_settings.sql
	large    string // page_large.sql
	expect   int    // expected number of rows of the next page

	decoder decoder // for all pages, since its memory is reused for many pages of a row or two
}

// query reads one page of records. It is full if there may be more: at limit, or if it was cut
// because of its bytes.
func (p *pageReader) query(ctx context.Context, limit int, sql string, args ...any) (page []outbox.Record, full bool, err error) {
	rows, end, err := p.rows(ctx, sql, args)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = end() }() // its error is looked at below, unless there is one already
	d := &p.decoder
	d.begin(limit, p.expect)
	for rows.Next() {
		if len(d.records) == 0 {
			d.binaryForm = isBinary(rows.FieldDescriptions())
		}
		if err := d.row(rows); err != nil {
			return nil, false, err
		}
	}
	rows.Close()
	if err := errors.Join(rows.Err(), end()); err != nil {
		return nil, false, err
	}
	full = len(d.records) == limit
	if len(d.absent) > 0 {
		cut, err := p.fetchLarge(ctx, d)
		if err != nil {
			return nil, false, err
		}
		full = full || cut
	}
	page = d.end(len(d.records) == limit)
	p.expect = max(2*len(page), 8)
	return page, full, nil
}

// rows runs a page's statement, and returns a function that ends it. Our own connections are set
// up so that plans use indexes and hidden rows are an error; behind a pooler, which keeps no
// settings, the statement includes these settings.
func (p *pageReader) rows(ctx context.Context, sql string, args []any) (pgx.Rows, func() error, error) {
	if !p.pooled {
		rows, err := p.conn.Query(ctx, sql, args...)
		return rows, func() error { rows.Close(); return nil }, err
	}
	batch := &pgx.Batch{}
	batch.Queue(p.settings)
	batch.Queue(sql, args...)
	results := p.conn.SendBatch(ctx, batch)
	_, err := results.Exec()
	var rows pgx.Rows
	if err == nil {
		rows, err = results.Query()
	}
	if err != nil {
		return nil, nil, errors.Join(err, results.Close())
	}
	return rows, results.Close, nil
}

// decoder turns rows into records.
type decoder struct {
	slabs

	records    []outbox.Record
	binaryForm bool  // the rows are in the format that binary expects
	size       int   // bytes that were kept
	absent     []int // places of the records whose payloads the page has left out
	topic, typ string

	stock stock
	last  memory // of the last page, if it was full
}

// begin begins a page of at most limit records, of which expect are expected. A page that is
// expected to be full, and as large as the last one, which was at least a slab, does not share
// its memory with other pages.
func (d *decoder) begin(limit, expect int) {
	var m memory
	if d.owns = expect >= limit && d.size >= slabBytes; d.owns {
		m, d.bytes = d.stock.take(), nil
	}
	if d.records = m.records[:0]; cap(d.records) < min(limit, expect) {
		d.records = make([]outbox.Record, 0, min(limit, expect))
	}
	d.owned, d.used, d.last = m.slabs, 0, memory{}
	d.absent, d.size = nil, 0
}

// end returns the records of the page, which stay valid after the next one.
func (d *decoder) end(full bool) (page []outbox.Record) {
	page, d.records = d.records, nil
	switch {
	case !full:
		d.stock.drop()
	case d.owns:
		d.last, d.bytes = memory{records: page, slabs: d.owned}, nil
	}
	d.owned, d.owns, d.used = nil, false, 0
	return page
}

// free returns a function that gives the memory of the last page back; nil if other pages share
// it.
func (d *decoder) free() func() {
	if m := d.last; len(m.records) > 0 {
		return func() { d.stock.put(m) }
	}
	return nil
}

// row decodes the current row of rows.
func (d *decoder) row(rows pgx.Rows) error {
	if d.binaryForm {
		return d.binary(rows.RawValues())
	}
	return d.scan(rows)
}

// name returns b as a text. Most rows have the same texts as the previous row, which are in last.
func (d *decoder) name(last *string, b []byte) string {
	if string(b) != *last {
		*last = string(b)
	}
	return *last
}

// decodeHeaders reads headers that Enqueue, or another program, wrote.
func decodeHeaders(raw []byte) map[string]string { return storable.Headers(raw) }
