package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

// operateEvery is how often the operator looks at parked records.
const operateEvery = 5 * time.Second

// operate does what operators do with parked records that can never be sent: it drops them. The
// audit keeps their ids.
func (st *stage) operate(ctx context.Context) {
	for wait.Full(ctx, operateEvery) {
		if err := st.store.dropParked(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintf(st.options.Out, "the operator could not drop what is parked: %v\n", err)
		}
	}
}

// tooLarge is the operator's request.
func tooLarge() admin.ChangeRequest {
	return admin.ChangeRequest{
		By:        admin.By{Actor: "operator", Reason: "larger than the topic takes"},
		Selection: admin.Selection{Topics: "*"},
	}
}
