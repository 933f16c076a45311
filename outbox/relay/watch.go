package relay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// watch is the state that a relay keeps about itself, over all its terms.
type watch struct {
	mu      sync.Mutex
	terms   []*term
	in, out ewma
	created time.Time // of the newest record that was settled
	good    ewma      // the rate of deliveries
	bad     ewma
	lastAck time.Time
	contact time.Time     // the source has answered
	faulty  time.Time     // since when it has not answered
	faults  int           // its errors since
	still   map[int]still // slots that are stuck
	offset  time.Duration
	clockAt time.Time // when offset was measured
	running bool
	server  driver.ServerChange    // the change that the alarm reports
	changed time.Time              // when that alarm ends; zero if none is raised
	leader  atomic.Pointer[string] // who led when the relay last requested a lease without success

	telling sync.Mutex              // locked while hooks are called about an alarm, so that its begin comes before its end
	raised  map[standing]func()     // alarms whose cause lasts, and what ends them; guarded by telling
	shown   map[standing]AlarmState // the same, for State; guarded by mu
}

// handView is the oldest record that a term is working on.
type handView struct {
	created time.Time
	since   time.Time
	topic   string
	seq     int64
}

// heldView is a term's view of the records that are set aside.
type heldView struct {
	records, keys int
	oldest, since time.Time // the oldest record that will be tried again
	topic         string
}

func (w *watch) enter(t *term) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.terms = append(w.terms, t)
}

// leave records that t has ended, and with it the cause that blocked or stopped it.
func (w *watch) leave(t *term) {
	w.mu.Lock()
	w.terms = slices.DeleteFunc(w.terms, func(other *term) bool { return other == t })
	w.mu.Unlock()
	w.clear(standing{kind: AlarmBlocked, slot: t.slot})
	w.clear(standing{kind: AlarmHeldCap, slot: t.slot})
}

// leads reports whether there is a term.
func (w *watch) leads() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.terms) > 0
}

// clock records by how much this machine's clock is ahead of the source's.
func (w *watch) clock(offset time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset, w.clockAt = offset, time.Now()
}

func (w *watch) run(running bool) {
	w.mu.Lock()
	w.running = running
	w.contact = time.Now()
	w.still = nil
	w.mu.Unlock()
	if !running {
		w.clearAll(false)
	}
}

// standsBy records that other relays lead. It returns which, and whether that has changed.
func (w *watch) standsBy(err error) (leader string, changed bool) {
	if !w.leads() {
		w.clearAll(true)
	}
	if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok {
		leader = held.Owner
	}
	before := w.leader.Swap(&leader)
	return leader, before == nil || *before != leader
}

// answered records that the source works. It returns since when it did not, and the number of
// errors in between.
func (w *watch) answered() (since time.Time, errs int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.contact = time.Now()
	since, errs = w.faulty, w.faults
	w.faulty, w.faults = time.Time{}, 0
	return since, errs
}

// failed counts an error of the source.
func (w *watch) failed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.faults++; w.faults == 1 {
		w.faulty = time.Now()
	}
}

// sent counts deliveries and returns the first failure.
func (w *watch) sent(results []outbox.Result) error {
	failed, paused := 0, 0
	for i := range results {
		switch err := results[i].Err; {
		case errors.Is(err, ErrPaused):
			paused++
		case err != nil:
			failed++
		}
	}
	now := time.Now()
	w.mu.Lock()
	good := len(results) - failed - paused
	w.good.add(good, now)
	w.bad.add(failed, now)
	if good > 0 {
		w.lastAck = now
	}
	w.mu.Unlock()
	if failed+paused == 0 {
		return nil
	}
	return firstFailure(results)
}

// inHand records the oldest record that the term works on; nil while it waits for more.
func (t *term) inHand(r *outbox.Record) {
	if r == nil {
		t.oldest.Store(nil)
		return
	}
	if h := t.oldest.Load(); h != nil && h.seq == r.Seq {
		return
	}
	t.oldest.Store(&handView{created: r.CreatedAt, since: time.Now(), topic: r.Topic, seq: r.Seq})
}

// progress records that records were settled, and how many of them by being set aside.
func (t *term) progress(ctx context.Context, records []outbox.Record, held int) {
	w, now := &t.relay.watch, time.Now()
	newest := records[len(records)-1].CreatedAt
	w.mu.Lock()
	w.out.add(len(records), now)
	if newest.After(w.created) {
		w.created = newest
	}
	w.in.add(len(records), w.created)
	w.contact = now
	p := ProgressEvent{
		Slot: t.slot, Settled: len(records), Held: held, Age: now.Sub(records[0].CreatedAt),
		In: w.in.rate(w.created), Out: w.out.rate(now),
	}
	w.mu.Unlock()
	notify(ctx, t.relay, func(h ProgressHook) { h.OnRelayProgress(ctx, p) })
}

// changedFor is how long a change of the server is an alarm.
const changedFor = time.Hour

// noteServer raises an alarm if the server of the group has changed lately. Each relay that leads
// does so, since the first one may end before an operator sees its alarm.
func (r *Relay) noteServer(ctx context.Context, s driver.Session) {
	moved, ok := s.(driver.Moved)
	if !ok {
		return
	}
	c := moved.Moved()
	left := changedFor - max(c.Age, 0)
	if c.Before == "" || left <= 0 {
		return
	}
	w := &r.watch
	w.mu.Lock()
	another := w.server.Before != c.Before || w.server.Now != c.Now
	w.server, w.changed = c, time.Now().Add(left)
	w.mu.Unlock()
	as := standing{kind: AlarmServerChanged}
	if another {
		w.clear(as)
	}
	w.raise(ctx, r, as, outbox.AlarmEvent{Kind: AlarmServerChanged, Detail: fmt.Sprintf(
		"%sthe server has changed from %s to %s: make sure that nothing writes to the former one; "+
			"if commits were lost, consumers go back as well (docs/moves.md)", r.named(), c.Before, c.Now)})
}

// inspect raises the alarms that depend on time.
func (r *Relay) inspect(ctx context.Context) {
	s := r.State()
	stuck := s.Stuck && s.still == "" // a slot that stands still has its own alarm
	r.watch.set(ctx, r, stuck, outbox.AlarmEvent{
		Kind: AlarmStuck, Topic: s.OldestTopic,
		Detail: fmt.Sprintf("a record is %s old although its destination is up", s.OldestAge.Round(time.Second)),
	})
	r.watch.set(ctx, r, s.OldestAge > r.cfg.SLO && !stuck, outbox.AlarmEvent{
		Kind: AlarmLag, Topic: s.OldestTopic, Detail: fmt.Sprintf("a record is %s old", s.OldestAge.Round(time.Second)),
	})
	now := time.Now()
	r.watch.mu.Lock()
	good, bad := r.watch.good.rate(now), r.watch.bad.rate(now)
	settled := !now.Before(r.watch.changed)
	r.watch.mu.Unlock()
	if settled {
		r.watch.clear(standing{kind: AlarmServerChanged})
	}
	r.watch.set(ctx, r, bad > good && bad*rateWindow.Seconds() > 5, outbox.AlarmEvent{
		Kind: AlarmErrorRate, Detail: fmt.Sprintf("%.3g deliveries a second fail, %.3g succeed", bad, good),
	})
}
