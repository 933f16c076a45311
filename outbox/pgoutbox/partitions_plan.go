package pgoutbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/outbox/admin"
)

// errOutrun is returned if producers went further than a plan has allowed for.
var errOutrun = errors.New("leat: the sequence has outrun the new ranges")

// tailPlan moves the start of the open-ended range.
type tailPlan struct {
	m    *Maintenance
	tail part
	// inUse is set if the open-ended range holds messages. Then it is closed at end and renamed
	// to closed, and a new one is created.
	inUse  bool
	end    int64
	closed string
	ranges []admin.Range
	// owner owns the log, and will own the new ranges; empty if the creator is the owner.
	owner string
}

// plan reads the sequence and chooses the new ranges.
func (r *round) plan(ctx context.Context, tx pgx.Tx, tail part, n int) (*tailPlan, error) {
	p := &tailPlan{m: r.Maintenance, tail: tail, end: tail.From}
	if err := p.findOwner(ctx, tx); err != nil {
		return nil, err
	}
	var last, name int64
	err := tx.QueryRow(ctx, "SELECT coalesce(pg_sequence_last_value($1::oid::regclass), 0) WHERE "+pgerr.Primary, r.sequence).Scan(&last)
	if err != nil {
		return nil, err
	}
	if err := tx.QueryRow(ctx, r.sql.rangeNames, r.ob.cfg.Table, r.ob.cfg.Schema).Scan(&name); err != nil {
		return nil, err
	}
	next := func() string {
		name++
		return r.ob.cfg.Table + "_p" + strconv.FormatInt(name, 10)
	}
	size := r.cfg.PartitionSize
	if p.inUse, err = p.used(ctx, tx); err != nil {
		return nil, err
	}
	if p.inUse || last >= tail.From {
		// One range above the sequence leaves room for what is written in the meantime.
		p.inUse, p.closed = true, next()
		p.end = (last/size+2)*size + 1
		p.ranges = append(p.ranges, admin.Range{Table: p.closed, From: tail.From, To: p.end})
	}
	from := p.end
	for range n {
		p.ranges = append(p.ranges, admin.Range{Table: next(), From: from, To: from + size})
		from += size
	}
	return p, nil
}

// used reports whether the open-ended range holds a visible row.
func (p *tailPlan) used(ctx context.Context, tx pgx.Tx) (used bool, err error) {
	err = tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+p.m.ob.tableName(p.tail.Table)+") WHERE "+pgerr.Primary).Scan(&used)
	return used, err
}

// run carries the plan out. Slow steps come before the lock.
func (p *tailPlan) run(ctx context.Context, tx pgx.Tx) error {
	fresh, tail := p.ranges, p.tail.Table
	if p.inUse {
		fresh = fresh[1:]
		tail += "_next"
		if err := p.create(ctx, tx, tail); err != nil {
			return err
		}
	}
	for _, f := range fresh {
		if err := p.create(ctx, tx, f.Table); err != nil {
			return err
		}
	}
	if err := p.lock(ctx, tx); err != nil {
		return err
	}
	log := p.m.ob.cfg.names().Qualified("")
	if err := p.ddl(ctx, tx, "ALTER TABLE "+log+" DETACH PARTITION "+p.m.ob.tableName(p.tail.Table)); err != nil {
		return err
	}
	if p.inUse {
		if err := p.close(ctx, tx, tail); err != nil {
			return err
		}
	}
	start := p.end
	for _, f := range fresh {
		if err := p.attach(ctx, tx, f.Table, f.From, strconv.FormatInt(f.To, 10)); err != nil {
			return err
		}
		start = f.To
	}
	return p.attach(ctx, tx, p.tail.Table, start, "MAXVALUE")
}

// lock locks the log and the open-ended range exclusively, and checks again.
func (p *tailPlan) lock(ctx context.Context, tx pgx.Tx) error {
	if err := p.m.lockLog(ctx, tx, p.tail.Table); err != nil {
		return err
	}
	var highest int64
	err := tx.QueryRow(ctx, "SELECT coalesce(max(seq), 0) FROM "+p.m.ob.tableName(p.tail.Table)+" WHERE "+pgerr.Primary).Scan(&highest)
	if err == nil && highest >= p.end {
		return errOutrun
	}
	return err
}

// close makes the open-ended range, which is detached now, an ordinary one, and next the
// open-ended one.
func (p *tailPlan) close(ctx context.Context, tx pgx.Tx, next string) error {
	if err := p.attach(ctx, tx, p.tail.Table, p.tail.From, strconv.FormatInt(p.end, 10)); err != nil {
		return err
	}
	if err := p.rename(ctx, tx, p.tail.Table, p.closed); err != nil {
		return err
	}
	return p.rename(ctx, tx, next, p.tail.Table)
}

// create creates a range outside the log.
func (p *tailPlan) create(ctx context.Context, tx pgx.Tx, table string) error {
	err := p.ddl(ctx, tx, fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL EXCLUDING IDENTITY)",
		p.m.ob.tableName(table), p.m.ob.cfg.names().Qualified("")))
	if err == nil && p.owner != "" {
		err = p.ddl(ctx, tx, fmt.Sprintf("ALTER TABLE %s OWNER TO %s", p.m.ob.tableName(table), pgx.Identifier{p.owner}.Sanitize()))
	}
	return err
}

func (p *tailPlan) attach(ctx context.Context, tx pgx.Tx, table string, from int64, to string) error {
	return p.ddl(ctx, tx, fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%d) TO (%s)",
		p.m.ob.cfg.names().Qualified(""), p.m.ob.tableName(table), from, to))
}

func (p *tailPlan) rename(ctx context.Context, tx pgx.Tx, from, to string) error {
	return p.ddl(ctx, tx, fmt.Sprintf("ALTER TABLE %s RENAME TO %s", p.m.ob.tableName(from), pgx.Identifier{to}.Sanitize()))
}

func (p *tailPlan) ddl(ctx context.Context, tx pgx.Tx, sql string) error {
	_, err := tx.Exec(ctx, sql)
	return err
}
