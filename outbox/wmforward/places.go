package wmforward

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglog"
)

// mostPlaces bounds the list of a window's rows: 16 bytes each in memory. A larger window is
// listed, and its index walked, in parts of this size.
const mostPlaces = 1_000_000

// places are the locations of a window's rows, in the order of their numbers.
type places struct {
	xids    []uint64
	numbers []int64
	at      int  // the first unread one
	whole   bool // the window has no more rows
}

// reset prepares for another window. It releases a long list.
func (p *places) reset() {
	if cap(p.xids) > 1<<16 {
		*p = places{}
	}
	p.xids, p.numbers, p.at, p.whole = p.xids[:0], p.numbers[:0], 0, false
}

// read reports whether all listed rows were read.
func (p *places) read() bool {
	return p.at == len(p.xids)
}

// list fills the list with the rows after the last one that was read.
func (t *table) list(ctx context.Context, at pglog.Place) error {
	p := &t.rest
	p.reset()
	rows, err := t.conn.Query(ctx, t.source.sql.list, at.Window.Prev.Text, at.Window.Target.Text, at.Read, t.source.most)
	if err != nil {
		return err
	}
	var xid uint64
	var number int64
	_, err = pgx.ForEachRow(rows, []any{&xid, &number}, func() error {
		if len(p.numbers) > 0 && p.numbers[len(p.numbers)-1] == number {
			return fmt.Errorf("%w: %d", errSameNumber, number)
		}
		p.xids, p.numbers = append(p.xids, xid), append(p.numbers, number)
		return nil
	})
	p.whole = len(p.xids) < t.source.most
	return err
}
