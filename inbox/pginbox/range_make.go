package pginbox

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/ids"
	"github.com/leat-go/leat/internal/pgpin"
)

// makeLockTimeout bounds the wait for the locks that a new range needs.
const makeLockTimeout = "2s"

// rangePart is a range in the database.
type rangePart struct {
	table    string
	from, to pgtype.UUID // to is not valid if there is no end
	pending  bool        // partly detached
}

func (p rangePart) rng() admin.RetentionRange {
	r := admin.RetentionRange{Name: p.table, From: madeAt(p.from), Estimate: -1}
	if p.to.Valid {
		r.To = madeAt(p.to)
	}
	return r
}

var partBounds = regexp.MustCompile(`^FOR VALUES FROM \((?:'([0-9a-f-]{36})'|MINVALUE)\) TO \((?:'([0-9a-f-]{36})'|MAXVALUE)\)$`)

// parts returns the ranges in the order of their times.
func (r *ranges) parts(ctx context.Context, q interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
},
) ([]rangePart, error) {
	rows, err := q.Query(ctx, r.list)
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p rangePart, err error) {
		var bound string
		if err := row.Scan(&p.table, &bound, &p.pending); err != nil {
			return p, err
		}
		p.from, p.to, err = parseBounds(bound)
		if err != nil {
			err = fmt.Errorf("leat: partition %s of the inbox: %w", p.table, err)
		}
		return p, err
	})
	slices.SortFunc(all, func(a, b rangePart) int { return bytes.Compare(a.from.Bytes[:], b.from.Bytes[:]) })
	return all, err
}

func parseBounds(bound string) (from, to pgtype.UUID, err error) {
	found := partBounds.FindStringSubmatch(bound)
	if found == nil {
		return from, to, fmt.Errorf("%s is not a range of ids; a DEFAULT partition lets old messages run twice", bound)
	}
	from = uuidAt(0)
	if found[1] != "" {
		err = from.Scan(found[1])
	}
	if found[2] != "" && err == nil {
		err = to.Scan(found[2])
	}
	return from, to, err
}

// makeFor creates the missing range of id, in a transaction of its own, and returns it, or an
// empty one if the range exists by now.
//
// The row of the floor is locked first. So the floor cannot rise past a range that is being
// created. Either the range was created first, and maintenance finds it below the floor and drops
// it; or the floor was raised first, and makeFor finds id below it and creates nothing, and the
// claim finds that id is too old. A dropped range is created again only after the floor was
// lowered, and then under another name: a round of maintenance that has paused since then drops
// only ranges that it knows.
func (r *ranges) makeFor(ctx context.Context, conn *pgx.Conn, id pgtype.UUID) (made admin.RetentionRange, err error) {
	opts := pgx.TxOptions{IsoLevel: pgx.ReadCommitted, AccessMode: pgx.ReadWrite}
	err = pgx.BeginTxFunc(ctx, conn, pgpin.TxOptions(opts), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '"+makeLockTimeout+"'"); err != nil {
			return err
		}
		var floor pgtype.UUID
		var width int64
		var lowered int32
		if err := tx.QueryRow(ctx, r.lock).Scan(&floor, &width, &lowered); err != nil {
			return err
		}
		all, err := r.parts(ctx, tx)
		if err != nil || below(id, floor) {
			return err
		}
		from, to, there := gap(all, id, floor, width)
		if there {
			return nil
		}
		p := rangePart{table: r.tableAt(from, lowered), from: from, to: to}
		made = p.rng()
		return r.attach(ctx, tx, p)
	})
	return made, err
}

// gap returns the bounds of the range around id: of length width and aligned to it, but neither
// below the floor nor into a neighbour, which may have another width.
func gap(all []rangePart, id, floor pgtype.UUID, width int64) (from, to pgtype.UUID, there bool) {
	start := ids.Millis(id.Bytes) / width * width
	from, to = uuidAt(start), uuidAt(start+width)
	if below(from, floor) {
		from = floor
	}
	for _, p := range all {
		switch {
		case below(id, p.from):
			if below(p.from, to) {
				to = p.from
			}
		case !p.to.Valid || below(id, p.to):
			return from, to, true
		case below(from, p.to):
			from = p.to
		}
	}
	return from, to, false
}
