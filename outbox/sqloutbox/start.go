package sqloutbox

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Start is where a new group begins to read. The zero value is unstated.
type Start struct {
	stated, now bool
	at          time.Time
}

// StartOldest begins at the oldest message that is retained.
func StartOldest() Start { return Start{stated: true} }

// StartNow begins with the messages that are committed after the first relay of the group
// has begun.
func StartNow() Start { return Start{stated: true, now: true} }

// StartAt begins at the first message that was enqueued at t or later, by the database's
// clock; with StartNow, if there is none. Messages whose transaction was still open when
// the first relay of the group began are read whenever they were enqueued.
func StartAt(t time.Time) Start { return Start{stated: true, at: t} }

// errStartUnstated says that nobody has said where a new group begins.
var errStartUnstated = errors.New("leat: a new group must say where it starts: SourceConfig.Start is StartOldest(), StartNow() or StartAt(t)")

// begin writes a new group down, unless another relay has.
func (s *Source) begin(ctx context.Context) error {
	if !s.cfg.Start.stated {
		return errStartUnstated
	}
	var at position
	err := s.ob.look(ctx, func(q querier) (err error) {
		at, err = s.ob.outset(ctx, q, s.cfg.Start)
		return err
	})
	if err != nil {
		return err
	}
	return s.ob.change(ctx, func(tx *sql.Tx) error {
		none := []byte{}
		_, err := tx.ExecContext(ctx, s.ob.sql["group_new"], []byte(s.cfg.Group), none, at.last, []byte(encodeGaps(at.gaps)), none, none)
		return err
	})
}

// outset returns the position at which a new group begins. The oldest is the floor, not 0:
// what was deleted would be a gap for good.
func (o *Outbox) outset(ctx context.Context, q querier, start Start) (position, error) {
	if !start.now && start.at.IsZero() {
		floor, err := o.floor(ctx, q)
		return position{last: floor}, err
	}
	end, err := o.last(ctx, q)
	if err != nil || start.now {
		return o.committed(ctx, q, end, err)
	}
	first, found, err := o.firstSince(ctx, q, start.at)
	if found {
		end = first - 1
	}
	return o.committed(ctx, q, end, err)
}

// last returns the highest number that is committed, 0 if there is none.
func (o *Outbox) last(ctx context.Context, q querier) (n int64, err error) {
	err = q.QueryRowContext(ctx, o.sql["last"]).Scan(&n)
	return n, err
}

// numbersPage is how many numbers of the log one statement reads.
const numbersPage = 10_000

// committed returns the position of one who has read all that is committed, up to number
// end; or err if it is not nil. It begins with what another group has read, so that it
// does not have to look at the whole log.
func (o *Outbox) committed(ctx context.Context, q querier, end int64, err error) (position, error) {
	if err != nil {
		return position{}, err
	}
	floor, err := o.floor(ctx, q)
	if err != nil {
		return position{}, err
	}
	groups, err := o.groups(ctx, q)
	if err != nil {
		return position{}, err
	}
	at := position{last: min(floor, end)}
	for _, g := range groups {
		if known := g.at.from(floor).upTo(end); known.last > at.last {
			at = known
		}
	}
	for full := true; full; {
		fresh, err := numbers(ctx, q, o.sql["numbers_new"], at.last, end, numbersPage)
		if err != nil {
			return position{}, err
		}
		at, full = at.seen(fresh), len(fresh) == numbersPage
	}
	if at.last < end { // the last ones are missing
		at.gaps, at.last = append(at.gaps, span{at.last + 1, end}), end
	}
	for gaps := at.gaps; len(gaps) > 0; {
		part := gaps[:min(len(gaps), maxSpans)]
		gaps = gaps[len(part):]
		where, args := within(part)
		late, err := numbers(ctx, q, o.sql.with("numbers_missing", where), args...)
		if err != nil {
			return position{}, err
		}
		at = at.seen(late)
	}
	return at, nil
}

// firstSince returns the lowest number of a message that was enqueued at t or later, by
// halving: numbers and times ascend together but for what statements take, for which an
// hour is allowed.
func (o *Outbox) firstSince(ctx context.Context, q querier, t time.Time) (n int64, found bool, err error) {
	low, err := o.floor(ctx, q)
	if err != nil {
		return 0, false, err
	}
	high, err := o.last(ctx, q)
	if err != nil {
		return 0, false, err
	}
	early := t.Add(-time.Hour).UnixMicro()
	for low < high {
		middle := low + (high-low)/2
		var seq, created int64
		err := q.QueryRowContext(ctx, o.sql["number_after"], middle).Scan(&seq, &created)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return 0, false, err
		case err == nil && created < early && seq <= high:
			low = seq
		default:
			high = middle
		}
	}
	err = q.QueryRowContext(ctx, o.sql["number_since"], low, t.UnixMicro()).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return n, err == nil, err
}
