package sqlforward

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// HandedBack says where the forwarder goes on.
type HandedBack struct {
	// Offset is the position that was stored for it; 0 with Queue.
	Offset int64
	// Repeats is the number of messages that were moved already and that it sends again.
	Repeats int64
}

// HandBack gives the forwarder its place back. Stop all Forwarders first, and let the relay
// run on: while a group of the outbox has messages that are not settled or are set aside,
// HandBack returns ErrNotSent. An outbox that no group reads is not looked at.
//
// The forwarder's position becomes the last number up to which nothing is missing: it
// repeats what lies behind it and was moved already. That is nothing, unless a transaction
// is open that has published, or was rolled back less than Config.GapAge ago. A queue has no position, and nothing is repeated.
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

// checkSent refuses messages that a relay is still to send.
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

// passEmpty returns the position without the gaps at its start that nobody will fill, as
// deadGaps says it. A gap that is younger than GapAge may be one whose INSERT waits.
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
		safe = position{} // nothing of what is there now was moved
	}
	if !f.cfg.Queue {
		h.Offset = safe.low()
		// What is behind the position and not in a gap was moved.
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
