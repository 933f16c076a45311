package sqlforward

import (
	"bytes"
	"context"
	"database/sql"
	"log/slog"
	"regexp"
	"strconv"
	"time"
)

// A TRUNCATE restarts the numbers of the forwarder's table. Rows below the position would never
// be read, and none of them was moved: everything in the table was inserted since. If the table
// was replaced by a copy instead, rows are moved twice.

// anew returns the position of a reader that has seen nothing, if the numbers began anew, else
// at.
func (f *Forwarder) anew(ctx context.Context, tx *sql.Tx, at position) (position, error) {
	again, err := f.beganAnew(ctx, tx, at.last)
	if err != nil || !again {
		return at, err
	}
	f.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "the numbers of the forwarder's table have begun anew: it is moved from its start",
		slog.String("table", f.cfg.Table), slog.Int64("last", at.last))
	return position{}, nil
}

// beganAnew reports whether the last number that was seen belongs to another row now, or was not
// assigned yet. A missing row shows nothing: it is deleted when it has been moved, or by a
// clean-up, and one that is committed late can have a lower number.
func (f *Forwarder) beganAnew(ctx context.Context, tx *sql.Tx, last int64) (bool, error) {
	var now, then []byte
	var highest int64
	err := tx.QueryRowContext(ctx, f.sql["mark_look"], last, []byte(f.cfg.Table), last).Scan(&now, &then, &highest)
	switch {
	case err != nil:
		return false, err
	case now != nil:
		return then != nil && !bytes.Equal(now, then), nil
	case highest >= last || time.Since(f.counted) < gapsPause && highest == f.highest:
		return false, nil
	}
	var table, statement string
	if err := tx.QueryRowContext(ctx, f.sql["counter"]).Scan(&table, &statement); err != nil {
		return false, err
	}
	f.counted, f.highest = time.Now(), highest
	return nextNumber(statement) <= last, nil
}

var counterOption = regexp.MustCompile(`\n\).*\bAUTO_INCREMENT=(\d+)`)

// nextNumber is the next number of the table, read from its statement; 1 if that does not contain
// it.
func nextNumber(statement string) int64 {
	found := counterOption.FindStringSubmatch(statement)
	if found == nil {
		return 1
	}
	n, _ := strconv.ParseInt(found[1], 10, 64)
	return n
}

// mark remembers the last row of the position.
func (f *Forwarder) mark(ctx context.Context, tx *sql.Tx, p page, last int64) error {
	for i := range p.rows {
		if r := &p.rows[i]; r.number == last {
			_, err := tx.ExecContext(ctx, f.sql["mark_store"], []byte(f.cfg.Table), last, r.uuid)
			return err
		}
	}
	return nil
}
