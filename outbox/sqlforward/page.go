package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/sqldialect"
	"github.com/leat-go/leat/internal/sqlstore"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/wmenvelope"
)

const (
	// maxSpans is the number of gaps that one statement reads.
	maxSpans = 100
	// maxPageBytes is the size at which a page ends although more could be read.
	maxPageBytes = 16 << 20
)

// row is a row of the forwarder's table.
type row struct {
	number    int64
	uuid      []byte
	payload   []byte
	createdAt int64 // microseconds since 1970
}

// page is the set of rows that one transaction moves, ascending in the number.
type page struct {
	rows []row
	size int
	full bool // there may be more
}

// read returns the rows that at has not seen. All reads of tx use one snapshot. So if a row is in
// the page, the earlier rows of its key are, too, since their transactions committed before it
// drew its number.
func (f *Forwarder) read(ctx context.Context, tx *sql.Tx, at position) (p page, err error) {
	for gaps := at.gaps; len(gaps) > 0 && !p.full; {
		part := gaps[:min(len(gaps), maxSpans)]
		gaps = gaps[len(part):]
		var args []any
		for _, g := range part {
			args = append(args, g.from, g.to)
		}
		where := strings.TrimSuffix(strings.Repeat("`offset` BETWEEN ? AND ? OR ", len(part)), " OR ")
		if err := f.readRows(ctx, tx, &p, fmt.Sprintf(f.sql["page_missing"], where), args...); err != nil {
			return p, err
		}
	}
	if p.full {
		return p, nil // new rows may not pass missing ones
	}
	return p, f.readRows(ctx, tx, &p, f.sql["page_new"], at.last)
}

// readRows adds the rows of a query whose last parameter is a limit.
func (f *Forwarder) readRows(ctx context.Context, tx *sql.Tx, p *page, query string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, query, append(args, f.cfg.PageSize-len(p.rows))...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r row
		if err := rows.Scan(&r.number, &r.uuid, &r.payload, &r.createdAt); err != nil {
			return err
		}
		p.rows = append(p.rows, r)
		p.size += len(r.payload)
		if p.full = len(p.rows) == f.cfg.PageSize || p.size >= maxPageBytes; p.full {
			return nil
		}
	}
	return rows.Err()
}

func (p page) numbers() []int64 {
	all := make([]int64, len(p.rows))
	for i := range p.rows {
		all[i] = p.rows[i].number
	}
	return all
}

// enqueue moves the page into the outbox. It returns how many rows are malformed.
func (f *Forwarder) enqueue(ctx context.Context, tx *sql.Tx, p page, now int64) (malformed int, err error) {
	var msgs []outbox.Message
	var from []row
	for _, r := range p.rows {
		msg, err := wmenvelope.Unwrap(r.payload, string(r.uuid), f.cfg.KeyFunc)
		if err == nil {
			fitOutbox(&msg)
			msg.OccurredAt = time.UnixMicro(min(r.createdAt, now)).UTC()
			msgs, from = append(msgs, msg), append(from, r)
			continue
		}
		malformed++
		if err := f.setAside(ctx, tx, r, err); err != nil {
			return malformed, err
		}
	}
	for len(msgs) > 0 {
		err := f.ob.Enqueue(ctx, tx, msgs...)
		if sqldialect.Number(err) == sqldialect.LockWaitTimeout {
			return malformed, fmt.Errorf("%w: %w", errKeyBusy, err)
		}
		invalid, ok := errors.AsType[*outbox.InvalidMessageError](err)
		if !ok {
			return malformed, err
		}
		// Nothing was written. Messages that the outbox does not accept are treated like rows
		// that are not envelopes.
		i := invalid.Index
		malformed++
		if err := f.setAside(ctx, tx, from[i], err); err != nil {
			return malformed, err
		}
		msgs, from = append(msgs[:i:i], msgs[i+1:]...), append(from[:i:i], from[i+1:]...)
	}
	return malformed, nil
}

// fitOutbox removes from m the headers that leat sets itself, as outbox.FromWatermill does.
func fitOutbox(m *outbox.Message) {
	m.Type = m.Headers[outbox.HeaderEventType]
	maps.DeleteFunc(m.Headers, func(name, _ string) bool { return outbox.ReservedHeader(name) })
}

func (f *Forwarder) setAside(ctx context.Context, tx *sql.Tx, r row, reason error) error {
	f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "row of the forwarder's table is malformed",
		slog.String("table", f.cfg.Table), slog.Int64("offset", r.number), slog.Any("error", reason))
	_, err := tx.ExecContext(ctx, f.sql["malformed"],
		[]byte(f.cfg.Table), r.number, r.uuid, r.payload, []byte(storable.Text(reason.Error())))
	return err
}

// ack marks the rows of a queue as done. A forwarder that has taken one of them in the meantime
// has sent it.
func (f *Forwarder) ack(ctx context.Context, tx *sql.Tx, p page) error {
	if !f.cfg.Queue {
		return nil
	}
	statement := f.sql["row_deleted"]
	if f.cfg.KeepAcked {
		statement = f.sql["row_acked"]
	}
	for i := range p.rows {
		number := p.rows[i].number
		n, err := sqlstore.Written(ctx, tx, statement, number)
		if err != nil {
			return besideForwarder(err)
		}
		if n != 1 {
			return fmt.Errorf("%w: it has acknowledged row %d first", errForwarderRunning, number)
		}
	}
	return nil
}
