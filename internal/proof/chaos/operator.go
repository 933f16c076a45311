package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// operateEvery is how often the operator looks at what is parked.
const operateEvery = 5 * time.Second

// operate does what people do who find records parked that can never be sent: it drops
// them. The audit keeps their ids.
func (st *stage) operate(ctx context.Context) error {
	ob, err := pgoutbox.New(st.bank, pgoutbox.Config{})
	if err != nil {
		return err
	}
	for pause(ctx, operateEvery) {
		_, err := ob.Drop(ctx, admin.DropRequest{
			By:        admin.By{Actor: "operator", Reason: "larger than the topic takes"},
			Selection: admin.Selection{Topics: "*"},
		})
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(st.options.Out, "the operator could not drop what is parked: %v\n", err)
		}
	}
	return nil
}
