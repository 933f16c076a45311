package inbox

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/storable"
)

const (
	// queuedFor is how long the keys that were read are used.
	queuedFor = time.Second
	// queuedMost is how many stored messages are read. If there are more, each message with a key
	// is compared in the store.
	queuedMost = 10_000
)

// queuedKeys are the keys that another policy has parked. Block does not count attempts, so no
// statement of a message shows that its key is parked.
type queuedKeys struct {
	mu   sync.Mutex
	at   time.Time
	keys map[driver.Key]bool
	all  bool
}

// isQueued reports whether a message of a key may be parked. It asks the store at most once in
// queuedFor, so it notices a key that another process parks with that delay. of is called only if
// a message is parked.
func (p *Processor) isQueued(ctx context.Context, of func() (driver.Key, error)) (bool, error) {
	if p.parker == nil {
		return false, nil
	}
	q := &p.queued
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.at.IsZero() || time.Since(q.at) >= queuedFor {
		var keys []driver.Key
		err := p.retry(ctx, func() (err error) {
			keys, q.all, err = p.parker.QueuedKeys(ctx, queuedMost)
			return err
		})
		if err != nil {
			return false, errors.Join(ErrNotClaimed, err)
		}
		q.at, q.keys = time.Now(), make(map[driver.Key]bool, len(keys))
		for _, k := range keys {
			q.keys[k] = true
		}
	}
	if q.all && len(q.keys) == 0 {
		return false, nil
	}
	key, err := of()
	if err != nil || key.Name == "" {
		return false, err
	}
	return !q.all || q.keys[key] || q.keys[driver.Key{Topic: storable.Text(key.Topic), Name: key.Name}], nil
}

// beginBehind stores a message behind its parked key, if attempts are not counted. If done is
// true the handler must not be run, and the delivery has ended.
func (p *Processor) beginBehind(ctx context.Context, d *delivery) (outcome Outcome, done bool, err error) {
	queued, err := p.isQueued(ctx, func() (driver.Key, error) {
		err := p.findKey(d)
		return d.key, err
	})
	switch {
	case err != nil:
		return OutcomeFailed, true, p.wrap("look for parked messages", d.id, err)
	case queued:
		return p.follow(ctx, d)
	default:
		return 0, false, nil
	}
}
