package dashboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	inboxadmin "github.com/leat-go/leat/inbox/admin"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

const (
	// watchedAge is the greatest age of figures while a page is open, idleAge while none is.
	watchedAge = 2 * time.Second
	idleAge    = 10 * time.Second
	// sampleTimeout bounds the calls of one store in one sample.
	sampleTimeout = 5 * time.Second
	// keptFor is how far back the charts reach.
	keptFor = 30 * time.Minute
)

// errRunning is returned by Run if it is already running.
var errRunning = errors.New("leat: the dashboard is running already")

// outboxSample is the last answer of an outbox.
type outboxSample struct {
	at     time.Time
	stats  admin.Stats
	groups []admin.Group
	// failed is the error since then; the last answer stays.
	failed error
}

type inboxSample struct {
	at     time.Time
	stats  inboxadmin.Stats
	failed error
}

// sample is the figures of all stores.
type sample struct {
	at       time.Time
	outboxes map[string]outboxSample
	inboxes  map[string]inboxSample
}

// sampler asks all stores concurrently, once for all callers: many tabs cost no more than one.
type sampler struct {
	cfg    Config
	asking chan struct{} // holds a token while no caller asks

	mu      sync.Mutex
	running bool
	last    sample
	// stale is set if an operator has changed something since the last sample.
	stale   bool
	history []sample
}

func newSampler(cfg Config) *sampler {
	s := &sampler{cfg: cfg, asking: make(chan struct{}, 1)}
	s.asking <- struct{}{}
	return s
}

// run keeps figures fresh.
func (s *sampler) run(ctx context.Context) error {
	s.mu.Lock()
	if s.running {
		s.mu.Unlock()
		return errRunning
	}
	s.running = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = false
	}()
	for ctx.Err() == nil {
		_, _ = s.get(ctx, idleAge)
		_ = wait.For(ctx, idleAge)
	}
	return nil
}

// get returns figures that are not older than most. One caller asks the stores, others wait for
// it.
func (s *sampler) get(ctx context.Context, most time.Duration) (sample, error) {
	if last, ok := s.fresh(most); ok {
		return last, nil
	}
	select {
	case <-s.asking:
		defer func() { s.asking <- struct{}{} }()
	case <-ctx.Done():
		return sample{}, ctx.Err()
	}
	if last, ok := s.fresh(most); ok {
		return last, nil
	}
	// The sample is for all waiting callers: a closed tab must not fail the others.
	next := s.ask(context.WithoutCancel(ctx))
	s.keep(next)
	return next, nil
}

func (s *sampler) fresh(most time.Duration) (sample, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, !s.stale && !s.last.at.IsZero() && time.Since(s.last.at) < most
}

// expire makes the next caller ask the stores again, so that an operator sees the result of a
// change.
func (s *sampler) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale = true
}

// keep stores a sample, and one every ten seconds for the charts.
func (s *sampler) keep(next sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = next
	if n := len(s.history); n == 0 || next.at.Sub(s.history[n-1].at) >= idleAge-idleAge/10 {
		s.history = append(s.history, next)
	}
	for len(s.history) > 0 && next.at.Sub(s.history[0].at) > keptFor {
		s.history = slices.Delete(s.history, 0, 1)
	}
}

// past returns the samples of the last half hour, the oldest first.
func (s *sampler) past() []sample {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.history)
}

func (s *sampler) ask(ctx context.Context) sample {
	s.mu.Lock()
	before := s.last
	s.stale = false
	s.mu.Unlock()
	next := sample{outboxes: maps.Clone(before.outboxes), inboxes: maps.Clone(before.inboxes)}
	if next.outboxes == nil {
		next.outboxes, next.inboxes = map[string]outboxSample{}, map[string]inboxSample{}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	for name, ob := range s.cfg.Outboxes {
		all.Go(func() {
			answer, err := s.askOutbox(ctx, ob)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				answer = next.outboxes[name]
				answer.failed = err
				s.complain(ctx, name, err)
			}
			next.outboxes[name] = answer
		})
	}
	for name, in := range s.cfg.Inboxes {
		all.Go(func() {
			answer, err := s.askInbox(ctx, in)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				answer = next.inboxes[name]
				answer.failed = err
				s.complain(ctx, name, err)
			}
			next.inboxes[name] = answer
		})
	}
	all.Wait()
	next.at = time.Now()
	return next
}

func (s *sampler) complain(ctx context.Context, name string, err error) {
	s.cfg.Logger.WarnContext(ctx, "figures were not sampled", slog.String("store", name), slog.Any("error", err))
}

// askOutbox asks with two statements.
func (s *sampler) askOutbox(ctx context.Context, ob admin.Outbox) (o outboxSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	if o.stats, err = ob.Stats(ctx); err != nil {
		return o, err
	}
	if o.groups, err = ob.Groups(ctx); err != nil {
		return o, err
	}
	o.at = time.Now()
	return o, nil
}

func (s *sampler) askInbox(ctx context.Context, in inboxadmin.Inbox) (i inboxSample, err error) {
	ctx, cancel := context.WithTimeout(ctx, sampleTimeout)
	defer cancel()
	i.stats, err = in.Stats(ctx)
	i.at = time.Now()
	return i, err
}

// history holds the figures of an outbox over the last half hour, one list per column.
type history struct {
	Outbox string `json:"outbox"`
	// At are the times, in seconds since 1970.
	At     []int64         `json:"at"`
	Rate   []float64       `json:"enqueued_per_second"`
	Groups []groupsHistory `json:"groups"`
}

// groupsHistory is the history of a group; null before the group was known.
type groupsHistory struct {
	Name    string     `json:"name"`
	Lag     []*float64 `json:"lag_seconds"`
	Backlog []*int64   `json:"backlog"`
	Settled []*float64 `json:"settled_per_second"`
}

func (c *call) history() (history, error) {
	name, _, err := c.outbox()
	if err != nil {
		return history{}, err
	}
	if err := c.q.done(); err != nil {
		return history{}, err
	}
	if _, err := c.d.sampler.get(c.ctx(), idleAge); err != nil {
		return history{}, err
	}
	return historyOf(name, c.d.sampler.past()), nil
}

func historyOf(name string, past []sample) history {
	h := history{Outbox: name, At: []int64{}, Rate: []float64{}, Groups: []groupsHistory{}}
	index := map[string]int{}
	for i, s := range past {
		o := outboxOf(name, s.outboxes[name])
		fillRates(&o, name, past[:i], s)
		h.At = append(h.At, s.at.Unix())
		h.Rate = append(h.Rate, o.Rate)
		for _, g := range o.Groups {
			at, known := index[g.Name]
			if !known {
				at = len(h.Groups)
				index[g.Name] = at
				h.Groups = append(h.Groups, groupsHistory{g.Name, make([]*float64, i), make([]*int64, i), make([]*float64, i)})
			}
			h.Groups[at].add(&g.Lag, &g.Backlog, &g.Settled)
		}
		for j := range h.Groups {
			if len(h.Groups[j].Lag) <= i {
				h.Groups[j].add(nil, nil, nil) // the group is gone
			}
		}
	}
	return h
}

func (g *groupsHistory) add(lag *float64, backlog *int64, settled *float64) {
	g.Lag, g.Backlog, g.Settled = append(g.Lag, lag), append(g.Backlog, backlog), append(g.Settled, settled)
}

// fillRates fills in the rates of enqueued and settled messages per second, over approximately
// the last minute. Both count numbers of the log, which have gaps, so they are slightly too high.
func fillRates(o *outboxStatus, name string, past []sample, now sample) {
	last := now.outboxes[name]
	for _, s := range past {
		first, ok := s.outboxes[name]
		took := last.at.Sub(first.at)
		if !ok || first.at.IsZero() || took > time.Minute || took < time.Second {
			continue
		}
		perSecond := func(n int64) float64 { return max(0, math.Round(float64(n)/took.Seconds()*10)/10) }
		o.Rate = perSecond(last.stats.LastSeq - first.stats.LastSeq)
		for i, g := range o.Groups {
			before, known := settled(first.stats, g.Name)
			after, still := settled(last.stats, g.Name)
			if known && still {
				o.Groups[i].Settled = perSecond(after - before)
			}
		}
		return
	}
}

// settled returns the progress of a group: the count of log numbers that it has passed in all
// slots. It is unknown before a relay has begun.
func settled(s admin.Stats, group string) (n int64, known bool) {
	for _, g := range s.Groups {
		if g.Name != group || len(g.Slots) == 0 {
			continue
		}
		n = s.LastSeq
		for _, slot := range g.Slots {
			n -= slot.Backlog
		}
		return n, true
	}
	return 0, false
}

// errNoStore is returned for a store that the dashboard does not have.
var errNoStore = errors.New("leat: the dashboard has no such store")

// OutboxStats returns Stats of the outbox called name, at most ten seconds old. They come from
// the sample that all pages share, so that another user of them, such as a sampler of metrics in
// the same process, does not load the database. It returns the error of the store if it did not
// answer.
func (d *Dashboard) OutboxStats(ctx context.Context, name string) (admin.Stats, error) {
	s, err := d.sampler.get(ctx, idleAge)
	if err != nil {
		return admin.Stats{}, err
	}
	o, ok := s.outboxes[name]
	if !ok {
		return admin.Stats{}, fmt.Errorf("%w: outbox %q", errNoStore, name)
	}
	return o.stats, o.failed
}

// InboxStats does the same for the inbox called name.
func (d *Dashboard) InboxStats(ctx context.Context, name string) (inboxadmin.Stats, error) {
	s, err := d.sampler.get(ctx, idleAge)
	if err != nil {
		return inboxadmin.Stats{}, err
	}
	i, ok := s.inboxes[name]
	if !ok {
		return inboxadmin.Stats{}, fmt.Errorf("%w: inbox %q", errNoStore, name)
	}
	return i.stats, i.failed
}
