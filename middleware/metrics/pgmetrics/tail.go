package pgmetrics

import (
	"context"

	"github.com/leat-go/leat/middleware/metrics"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/pgoutbox"
)

// Tail observes the tail of a source: give it to pgoutbox.TailConfig.Hooks. It is safe for
// concurrent use.
type Tail struct{ to *metrics.Tail }

var _ pgoutbox.TailHook = (*Tail)(nil)

// NewTail returns a Tail of the group that r observes. Errors wrap outbox.ErrInvalidConfig.
func NewTail(r *metrics.Relay) (*Tail, error) {
	if r == nil {
		return nil, outbox.ConfigError("r", nil, "must not be nil")
	}
	return &Tail{r.Tail()}, nil
}

// OnPgoutboxTail implements pgoutbox.TailHook.
func (t *Tail) OnPgoutboxTail(_ context.Context, e pgoutbox.TailEvent) { t.to.Follows(e.Follows) }
