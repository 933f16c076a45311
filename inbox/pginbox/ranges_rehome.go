package pginbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/driver"
)

// claimTries bounds the claims of one delivery: one more than what can be wrong with
// the first, which is where the connection looks and the range that is not there.
const claimTries = 4

var (
	// ErrSwitching is returned for a message whose place is just being moved: Enable
	// began, and did not come to its end. Call it again, or let maintenance run.
	ErrSwitching = errors.New("leat: the inbox is being switched to ranges")

	// ErrNoRange is returned when the range of a message is not there and could not be
	// made, for want of a privilege or of a lock. Maintenance makes it.
	ErrNoRange = errors.New("leat: the inbox has no range for the message")
)

// rehome is called when the claim of id was refused by a constraint, with conn in no
// transaction. It returns nil if the claim is to be tried again: the connection has
// learned where id lives, or its range was made. Otherwise it says why id cannot be
// claimed; refusal is the server's word. Nothing is decided in silence.
func (k keys) rehome(ctx context.Context, conn *pgx.Conn, id pgtype.UUID, refusal error) error {
	state, err := k.refresh(ctx, conn)
	switch {
	case err != nil:
		return explain(err)
	case !timed(id), state.mode == modeOff:
		return refusal // a constraint that is not ours
	case state.mode == modePending:
		return fmt.Errorf("%w: %w", ErrSwitching, refusal)
	case below(id, state.cutover):
		return nil
	case below(id, state.floor):
		return inbox.Permanent(fmt.Errorf("%w: made at %s, remembered from %s", driver.ErrTooOld,
			madeAt(id).Format(time.RFC3339), madeAt(state.floor).Format(time.RFC3339)))
	case state.mode == modeDelete:
		return nil
	}
	if ahead := madeAt(id).Sub(time.UnixMilli(state.now)); ahead > k.maxAhead {
		return inbox.Permanent(fmt.Errorf("%w: made at %s, ahead of the database's clock by %s, more than MaxAhead = %s",
			driver.ErrTooNew, madeAt(id).Format(time.RFC3339), ahead.Round(time.Millisecond), k.maxAhead))
	}
	made, err := k.makeRange(ctx, conn, id)
	if err != nil {
		return fmt.Errorf("%w made at %s: %w", ErrNoRange, madeAt(id).Format(time.RFC3339), err)
	}
	if made.Table != "" {
		k.alarm(ctx, Alarm{Kind: AlarmRangeMissing, Range: made})
	}
	return nil
}
