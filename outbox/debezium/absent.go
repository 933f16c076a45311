package debezium

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// absent watches a connector that does not use its slot. While the slot is unused, the number of
// rows left up to a position cannot change, so the log is read only once.
type absent struct {
	confirmed string // when it was counted; empty until then
	rows      int64  // number of rows left
	since     time.Time
}

// look reports whether the connector has sent everything up to position. It returns an error if
// it has not and the slot has been unused for patience.
func (a *absent) look(ctx context.Context, slot *Slot, position string, patience time.Duration) (bool, error) {
	st, err := slot.state(ctx, position)
	if err != nil || st.reached {
		return st.reached, err
	}
	if st.Active {
		*a = absent{}
		return false, nil
	}
	if st.Confirmed != a.confirmed {
		rows, err := slot.Pending(ctx, position)
		if errors.Is(err, errConnectorRunning) { // it has just come back
			*a = absent{}
			return false, nil
		}
		if err != nil || rows == 0 {
			return err == nil, err
		}
		*a = absent{confirmed: st.Confirmed, rows: rows, since: time.Now()}
	}
	if time.Since(a.since) < patience {
		return false, nil
	}
	return false, fmt.Errorf("%w: %d rows of %s; nobody has used slot %s for %s", errConnectorStopped, a.rows, slot.cfg.Publication, slot.cfg.Slot, patience)
}
