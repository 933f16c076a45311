package dynamooutbox

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/leat-go/leat/outbox"
)

// Items are messages for a TransactWriteItems of the caller's own. See Outbox.Items.
type Items struct {
	// All are the items, to be sent with the caller's, all of them.
	All []types.TransactWriteItem

	ob    *Outbox
	built built
}

// Items returns msgs for those who send their own TransactWriteItems. If that is cancelled for
// a conflict (Items.Conflict), call Items again, for the same messages with the same ids, and
// send the new ones: others were faster. Send a request whose answer is missing again with the
// same ClientRequestToken, and nothing else, until there is one. InTx does all of this.
func (o *Outbox) Items(ctx context.Context, msgs ...outbox.Message) (Items, error) {
	ready, err := o.prepare(ctx, msgs)
	if err == nil {
		err = room(0, ready, 0)
	}
	if err != nil {
		return Items{}, err
	}
	b, err := o.build(ctx, ready)
	o.counters.forget(b.last)
	return Items{All: b.items, ob: o, built: b}, err
}

// Conflict reports whether the transaction was cancelled for nothing but a conflict that new
// Items mend. Before is the number of the caller's items that stood before All in the request.
func (i Items) Conflict(err error, before int) bool {
	c, ok := errors.AsType[*types.TransactionCanceledException](err)
	if !ok || before < 0 || len(c.CancellationReasons) < before+len(i.All) {
		return false
	}
	for at, r := range c.CancellationReasons {
		own := at >= before && at < before+len(i.All)
		if (!own || !conditionFailed(r)) && classifyReasons([]types.CancellationReason{r}) == outcomeCancelled {
			return false
		}
	}
	return true
}
