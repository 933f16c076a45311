// Package fullpool looks after a pool whose connections deliveries can exhaust. A handler that uses
// the pool instead of its transaction then waits for a connection that another such handler holds.
// The package warns of that, and leaves connections for such handlers.
package fullpool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/logger"
)

const (
	// wait is how long a claim waits for a connection.
	wait = 30 * time.Second
	// long is how long a delivery has its connection before the pool is checked.
	long = 10 * time.Second
	// room is how long a claim leaves the last connection to handlers while no delivery ends.
	room = 2 * time.Second
)

// errWaited is the cause of the end of a claim's wait.
var errWaited = errors.New("leat: no connection became free")

// Size is how many connections of a pool are in use, and the maximum, 0 if there is none.
type Size struct{ Taken, Most int }

// Pool tracks a pool and the deliveries that have a connection of it. It is safe for concurrent
// use. See design 12.11.
type Pool struct {
	// Wait, Long and Room replace the times above in tests.
	Wait, Long, Room time.Duration

	setting string
	size    func() Size
	most    func() int
	log     *slog.Logger

	mu      sync.Mutex
	held    int             // deliveries that have a connection, or are about to take one
	waiting []chan struct{} // waiting claims, the first one first; closed when they get a place
	wary    bool            // a handler may want the pool: the last connection is left to it
	ended   time.Time       // when a delivery ended last, or a claim did not wait for that
	grown   time.Time       // when the pool got another connection last
}

// New returns a Pool whose size is set by setting. Most is Size.Most, but cheaper to read.
func New(setting string, size func() Size, most func() int, log *slog.Logger) *Pool {
	return &Pool{Wait: wait, Long: long, Room: room, setting: setting, size: size, most: most, log: logger.Or(log)}
}

// Take calls take, which takes a connection, and bounds the wait for it. If the wait ends, the
// error states the size of the pool. The caller then calls Watch, or Leave, if it got a connection.
func (p *Pool) Take(ctx context.Context, take func(ctx context.Context) error) error {
	bounded, cancel := context.WithTimeoutCause(ctx, p.Wait, errWaited)
	defer cancel()
	err := p.enter(bounded)
	if err == nil {
		if err = take(bounded); err == nil {
			return nil
		}
		p.Leave()
	}
	if !errors.Is(context.Cause(bounded), errWaited) {
		return err
	}
	if s := p.size(); s.Most > 0 && s.Taken >= s.Most {
		return fmt.Errorf("%w within %s: all %d of the pool are taken (%s); give it more, run fewer handlers at a time, "+
			"and look for handlers that use the pool instead of their transaction", errWaited, p.Wait, s.Most, p.setting)
	}
	return fmt.Errorf("%w within %s: %w", errWaited, p.Wait, err)
}

// limit returns how many deliveries may have a connection, -1 for any number.
func (p *Pool) limit() int {
	most := p.most()
	if most == 0 {
		return -1
	}
	if p.wary && most > 1 {
		return most - 1
	}
	return most
}

// enter takes a place among the deliveries, in the order of calls.
func (p *Pool) enter(ctx context.Context) error {
	p.mu.Lock()
	if limit := p.limit(); limit < 0 || p.held < limit && len(p.waiting) == 0 {
		p.held++
		p.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	p.waiting = append(p.waiting, place)
	p.mu.Unlock()

	impatient := time.NewTimer(p.Room)
	defer impatient.Stop()
	for {
		select {
		case <-place:
			return nil
		case <-impatient.C:
			impatient.Reset(p.goOn(place))
		case <-ctx.Done():
			return p.giveUp(ctx, place)
		}
	}
}

// goOn gives the first claim the connection that is reserved for handlers once no delivery has
// ended for Room. Handlers may not need it, or one of them may wait for this claim. It returns when
// to ask again.
func (p *Pool) goOn(place chan struct{}) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := time.Since(p.ended)
	if since < p.Room {
		return p.Room - since
	}
	if len(p.waiting) > 0 && p.waiting[0] == place && p.held < p.most() {
		p.ended = time.Now()
		p.admit()
	}
	return p.Room
}

// admit gives a place to the claim that waits first.
func (p *Pool) admit() {
	p.held++
	close(p.waiting[0])
	p.waiting = p.waiting[1:]
}

func (p *Pool) giveUp(ctx context.Context, place chan struct{}) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, place); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.left() // the place came too late
	}
	return ctx.Err()
}

// Leave notes that a connection is back in the pool.
func (p *Pool) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left()
}

func (p *Pool) left() {
	p.held--
	if len(p.waiting) == 0 && !p.wary { // the usual case
		return
	}
	p.ended = time.Now()
	for limit := p.limit(); len(p.waiting) > 0 && (limit < 0 || p.held < limit); {
		p.admit()
	}
}

// Grower adds one connection to a pool until the Watch on a delivery ends.
type Grower interface {
	// Grow reports whether the pool has grown.
	Grow() bool
}

// Watch is the watch over a delivery. The zero Watch watches nothing.
type Watch struct {
	pool *Pool
	more Grower

	mu    sync.Mutex
	timer *time.Timer
}

// Watch begins the watch w over a delivery that has taken a connection. Each time the delivery has
// had the connection for another Long, w checks the pool. If the pool is full it warns, and from
// then on the last connection is left to handlers. For handlers that already wait for each other it
// calls more, at most once in Long and for each delivery.
func (p *Pool) Watch(w *Watch, more Grower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pool, w.more = p, more
	w.timer = time.AfterFunc(p.Long, w.look)
}

// End ends the watch. It calls give, which returns the connection and shrinks the pool if it has
// grown. The pool does not grow after that.
func (w *Watch) End(give func() error) error {
	w.mu.Lock()
	watched := w.timer != nil
	if watched {
		w.timer.Stop()
		w.timer = nil
	}
	w.mu.Unlock()
	err := give()
	if watched {
		w.pool.Leave()
	}
	return err
}

func (w *Watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer == nil {
		return
	}
	w.timer.Reset(w.pool.Long)
	if w.pool.warn() && w.more != nil && w.more.Grow() {
		w.more = nil
	}
}

// warn warns if the pool is full, and reports whether it should grow.
func (p *Pool) warn() bool {
	s := p.size()
	if s.Most == 0 || s.Taken < s.Most {
		return false
	}
	p.log.Warn("handler is slow and its pool has no free connection: does it use the pool instead of its transaction (Tx)?",
		slog.Duration("running", p.Long), slog.Int("connections", s.Most), slog.String("setting", p.setting))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wary = true
	if !p.grown.IsZero() && time.Since(p.grown) < p.Long {
		return false
	}
	p.grown = time.Now()
	return true
}
