package benchmarks

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// producers is how many clients of a service write at the same time.
const producers = 8

// concurrently calls do with 0…count-1, by that many clients, and returns how long all
// took.
func concurrently(ctx context.Context, clients, count int, do func(ctx context.Context, i int) error) (time.Duration, error) {
	var next atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, clients)
	began := time.Now()
	for client := range clients {
		group.Go(func() {
			for errs[client] == nil {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				errs[client] = do(ctx, i)
			}
		})
	}
	group.Wait()
	return time.Since(began), errors.Join(errs...)
}
