package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// HandedBack is where the forwarder continues.
type HandedBack struct {
	// Offset is the position that was stored for it; 0 with Queue.
	Offset int64
	// Repeats is the number of messages that it sends again although they were moved already.
	Repeats int64
}

// HandBack lets the forwarder take over again. Stop all Forwarders first, and keep the relay
// running: while a group of the outbox has messages that are not settled or are set aside,
// HandBack returns ErrNotSent. An outbox that no group reads is not checked.
//
// The forwarder's position becomes the last number up to which nothing is missing: it repeats
// messages after that which were moved already. There are none, unless a transaction that has
// published is open, or was rolled back less than Config.GapAge ago. A queue has no position, and
// repeats nothing.
func (f *Forwarder) HandBack(ctx context.Context) (h HandedBack, err error) {
	err = f.session(ctx, func(conn *sql.Conn) error {
		at, now, err := f.position(ctx, conn, f.sql["position_load"])
		if errors.Is(err, sql.ErrNoRows) || err == nil && at.last < 0 {
			return errNothingToHandBack
		}
		if err != nil {
			return describe(err)
		}
		if err := f.checkSent(ctx); err != nil {
			return err
		}
		safe, err := f.passEmpty(ctx, conn, at, now)
		if err != nil {
			return describe(err)
		}
		h, err = f.handBack(ctx, conn, at, safe)
		return describe(err)
	})
	return h, err
}

// checkSent returns an error while a relay still has to send messages.
func (f *Forwarder) checkSent(ctx context.Context) error {
	stats, err := f.ob.Admin().Stats(ctx)
	if err != nil {
		return err
	}
	for i := range stats.Groups {
		g := &stats.Groups[i]
		var backlog int64
		for j := range g.Slots {
			backlog += g.Slots[j].Backlog
		}
		if backlog > 0 || g.Held > 0 {
			return fmt.Errorf("%w: group %q has %d messages that are not settled and %d set aside", ErrNotSent, g.Name, backlog, g.Held)
		}
	}
	return nil
}

// passEmpty returns the position without the gaps at its start that will never be filled,
// according to deadGaps. A gap that is younger than GapAge may belong to a waiting INSERT.
func (f *Forwarder) passEmpty(ctx context.Context, conn *sql.Conn, at position, now int64) (position, error) {
	for len(at.gaps) > 0 && now-at.gaps[0].since >= f.cfg.GapAge.Microseconds() {
		empty, err := f.empty(ctx, conn, at.gaps[0])
		if err != nil || !empty {
			return at, err
		}
		at.gaps = at.gaps[1:]
	}
	return at, nil
}

func (f *Forwarder) handBack(ctx context.Context, conn *sql.Conn, loaded, safe position) (h HandedBack, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return h, fmt.Errorf("leat: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // has ended already if Commit was reached
	now, _, err := f.position(ctx, tx, f.sql["position_lock"])
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return h, err
	}
	if err != nil || now.last != loaded.last || !slices.Equal(now.gaps, loaded.gaps) {
		return h, fmt.Errorf("%w: rows are being moved, stop all Forwarders", outbox.ErrAlreadyRunning)
	}
	if again, err := f.beganAnew(ctx, tx, now.last); err != nil {
		return h, err
	} else if again {
		safe = position{} // none of the present rows was moved
	}
	if !f.cfg.Queue {
		h.Offset = safe.low()
		// Rows after the position and not in a gap were moved.
		var rows int64
		if err := tx.QueryRowContext(ctx, f.sql["repeats"], h.Offset, safe.last).Scan(&rows); err != nil {
			return h, err
		}
		h.Repeats = rows
		if err := f.storeOffset(ctx, tx, h.Offset); err != nil {
			return h, err
		}
	}
	if _, err := tx.ExecContext(ctx, f.sql["position_forget"], []byte(f.cfg.Table)); err != nil {
		return h, err
	}
	return h, tx.Commit()
}
