package pgoutbox

import "context"

// Promote is promote, for tests.
func Promote(ctx context.Context, ob *Outbox) (moved int64, stayed bool, err error) {
	return ob.promote(ctx)
}
