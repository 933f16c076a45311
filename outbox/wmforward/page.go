package wmforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/leat-go/leat/outbox"
)

// maxPageBytes is the size at which a page is cut short.
const maxPageBytes = 32 << 20

var errOutOfOrder = errors.New("leat: the rows of a page came out of order")

// query reads the rows of the next page: those of the next limit places, or of fewer, taken, if
// they hold more than maxPageBytes.
func (t *table) query(ctx context.Context, limit int) (records []outbox.Record, taken int, err error) {
	p := &t.rest
	end := min(p.at+limit, len(p.xids))
	xids, numbers := p.xids[p.at:end], p.numbers[p.at:end]
	rows, err := t.conn.Query(ctx, t.source.sql.page, xids, numbers)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	records = make([]outbox.Record, 0, len(numbers))
	size, full := 0, false
	for size < maxPageBytes && rows.Next() {
		var r row
		var place int
		var created time.Time
		var fetched bool
		if err := rows.Scan(&place, &r.uuid, &created, &r.payload, &fetched); err != nil {
			return nil, 0, fmt.Errorf("leat: reading the forwarder's table: %w", err)
		}
		if !fetched {
			full = true
			break
		}
		if place <= taken {
			return nil, 0, errOutOfOrder
		}
		taken = place
		r.number, r.createdAt = numbers[place-1], created.UTC()
		size += len(r.payload)
		records = append(records, t.decode(ctx, r))
	}
	full = full || size >= maxPageBytes
	rows.Close() // reads past the rows that were not taken
	if err := rows.Err(); err != nil {
		return nil, 0, err
	}
	if !full {
		taken = len(numbers)
	}
	return records, taken, nil
}

func (t *table) decode(ctx context.Context, r row) outbox.Record {
	record, err := decode(r, t.source.cfg.KeyFunc)
	if err != nil {
		t.source.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "row of the forwarder's table is malformed",
			slog.String("message_uuid", r.uuid), slog.Int64("offset", r.number), slog.Any("error", err))
	}
	return record
}
