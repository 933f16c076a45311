package pgoutbox

import (
	"context"
	"runtime"
	"sync"
	"weak"

	"github.com/jackc/pgx/v5"

	"github.com/leat-go/leat/outbox/internal/pglease"
	"github.com/leat-go/leat/outbox/internal/pglog"
)

// shared is what the outboxes of this process have in common that are on one pool, so that forty of
// them do not take forty connections for it.
type shared struct {
	line *pglease.Line // where Maintenance holds its leases
	ears ears          // listens for the commits of other processes
}

// sharedBy knows what there is for a pool, for as long as an outbox uses it.
type sharedBy struct {
	mu sync.Mutex
	of map[any]weak.Pointer[shared] // by the pool's weak pointer
}

// byPool is of the whole process: outboxes that know nothing of each other are on one pool.
var byPool sharedBy //nolint:gochecknoglobals // see above

// find returns what the outboxes on the pool of o share.
func (b *sharedBy) find(pool any, o *Outbox) *shared {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.of[pool].Value(); s != nil {
		return s
	}
	s := &shared{line: pglease.NewLine(func(ctx context.Context) (*pgx.Conn, error) {
		c, err := o.connectAs(ctx, "leat maintenance")
		if err != nil {
			return nil, err
		}
		return c.Conn, nil
	}, pglog.Close)}
	if b.of == nil {
		b.of = map[any]weak.Pointer[shared]{}
	}
	b.of[pool] = weak.Make(s)
	runtime.AddCleanup(s, b.forget, pool)
	return s
}

func (b *sharedBy) forget(pool any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of[pool].Value() == nil { // else there is another one by now
		delete(b.of, pool)
	}
}
