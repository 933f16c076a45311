package inbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/ids"
)

// batchCall is one call of Batch.Process.
type batchCall struct {
	*Batch

	handle  func(ctx context.Context, msgs []*message.Message) error
	errs    []error            // the results
	blocked map[driver.Key]int // keys with a message that is not done, and the first one's place
	parked  map[driver.Key]int // keys that were parked in this call, and the first one's place
	noted   map[int]bool       // places of the messages that AttemptBatch knows
	apart   map[int]bool       // places of the messages to run alone
	later   map[int]bool       // places of the messages that could not be claimed because of another transaction
	busy    bool               // a message was Busy
	began   time.Time

	handler string // the name of the handler's function, empty if it is not known

	outage error // the outage that a message has met: the remaining ones are not tried

	each  bool // the handler is one of single messages
	early int  // number of failures that came within soon messages of each other
}

func (b *Batch) newCall(handle func(ctx context.Context, msgs []*message.Message) error, n int) *batchCall {
	return &batchCall{
		Batch: b, handle: handle, errs: make([]error, n), began: time.Now(),
		blocked: map[driver.Key]int{}, parked: map[driver.Key]int{}, noted: map[int]bool{},
		apart: map[int]bool{}, later: map[int]bool{},
	}
}

// all processes msgs and returns their results.
func (c *batchCall) all(ctx context.Context, msgs []*message.Message) []error {
	c.process(ctx, msgs)
	if c.busy {
		c.p.delay(ctx)
	}
	return c.errs
}

// batchEntry is a message of a call.
type batchEntry struct {
	msg   *message.Message
	place int
	id    string // empty if none was found: Process decides what happens to it
	key   driver.Key
	first int // for a copy, the place of the first message with the same id
}

// process settles each of msgs.
func (c *batchCall) process(ctx context.Context, msgs []*message.Message) {
	if err := c.p.sameIDs(ctx); err != nil {
		for place, msg := range msgs {
			c.settle(ctx, batchEntry{msg: msg, place: place}, OutcomeFailed, c.p.wrap("claim", msg.UUID, err))
		}
		return
	}
	entries, copies := c.enter(ctx, msgs)
	select {
	case c.lanes <- struct{}{}:
		defer func() { <-c.lanes }()
	case <-ctx.Done(): // each message then fails below
	}
	for part := range slices.Chunk(entries, c.cfg.MaxBatch) {
		c.group(ctx, part)
	}
	for _, e := range copies {
		c.settleCopy(ctx, e)
	}
}

// enter finds the ids and keys of msgs. It returns copies of an earlier message separately, since
// the store would claim both. Ids are compared in their stored form, since that is what the store
// compares.
func (c *batchCall) enter(ctx context.Context, msgs []*message.Message) (entries, copies []batchEntry) {
	entries = make([]batchEntry, 0, len(msgs))
	seen := make(map[ids.UUID]int, len(msgs))
	for place, msg := range msgs {
		e := batchEntry{msg: msg, place: place}
		handler := message.HandlerNameFromCtx(msg.Context()) //nolint:contextcheck // the message has one of its own
		handler = cmp.Or(handler, c.handler)
		err := c.p.OneHandler(handler)
		if err != nil {
			c.settle(ctx, e, OutcomeFailed, err)
			continue
		}
		e.key.Topic = message.SubscribeTopicFromCtx(msg.Context()) //nolint:contextcheck // the message has one of its own
		if e.key.Name, err = c.p.cfg.KeyFunc(e.key.Topic, msg); err != nil {
			c.settle(ctx, e, OutcomeFailed, fmt.Errorf("leat: consumer %s: key of message %.200q: %w", c.p.consumer, msg.UUID, err))
			continue
		}
		if id, err := c.p.cfg.IDFrom.Find(msg); err == nil {
			e.id = id
		}
		if e.id != "" {
			stored, _ := ids.Map(e.id)
			if first, again := seen[stored]; again {
				e.first = first
				copies = append(copies, e)
				continue
			}
			seen[stored] = place
		}
		entries = append(entries, e)
	}
	return entries, copies
}

// settle records the result of a message. One that is not done blocks its key.
func (c *batchCall) settle(ctx context.Context, e batchEntry, outcome Outcome, err error) {
	c.note(e, err)
	c.busy = c.busy || outcome == OutcomeBusy
	topic := message.SubscribeTopicFromCtx(e.msg.Context()) //nolint:contextcheck // only the message's own has it
	c.p.observe(ctx, DeliveryEvent{
		Consumer: c.p.consumer, ID: e.id, Topic: topic, OccurredAt: c.p.occurredAt(e.msg), Outcome: outcome, Took: time.Since(c.began), Err: err,
	})
}

// settleAll settles each entry with err, to which it adds what and the entry's id. A nil err stays nil.
func (c *batchCall) settleAll(ctx context.Context, entries []batchEntry, outcome Outcome, what string, err error) {
	for _, e := range entries {
		if err == nil {
			c.settle(ctx, e, outcome, nil)
			continue
		}
		c.settle(ctx, e, outcome, fmt.Errorf("leat: consumer %s, message %.200q: %s: %w", c.p.consumer, e.id, what, err))
	}
}

func (c *batchCall) note(e batchEntry, err error) {
	c.errs[e.place] = err
	if err == nil || e.key.Name == "" {
		return
	}
	if first, found := c.blocked[e.key]; !found || e.place < first {
		c.blocked[e.key] = e.place
	}
}

// settleCopy gives a copy the result of the first message with its id.
func (c *batchCall) settleCopy(ctx context.Context, e batchEntry) {
	err := c.errs[e.first]
	outcome := OutcomeDuplicate
	switch {
	case err == nil:
	case errors.Is(err, ErrCommitUnknown):
		outcome = OutcomeUnknown
	default:
		outcome = OutcomeFailed
	}
	c.settle(ctx, e, outcome, err)
}

// held reports whether an earlier message of the key is not done.
func (c *batchCall) held(e batchEntry) bool {
	first, found := c.blocked[e.key]
	return found && e.key.Name != "" && first < e.place
}

// runnable settles the entries that must not be run, and returns the others.
func (c *batchCall) runnable(ctx context.Context, entries []batchEntry) []batchEntry {
	rest := make([]batchEntry, 0, len(entries))
	for _, e := range entries {
		if err := errors.Join(over(ctx), over(e.msg.Context())); err != nil { //nolint:contextcheck // the message has one of its own
			c.settleAll(ctx, []batchEntry{e}, OutcomeFailed, "not run", err)
			continue
		}
		if c.outage != nil {
			c.settleAll(ctx, []batchEntry{e}, OutcomeFailed, "not run", c.outage)
			continue
		}
		if c.held(e) {
			c.settleAll(ctx, []batchEntry{e}, OutcomeFailed, "not run", ErrHeldBack)
			continue
		}
		rest = append(rest, e)
	}
	return rest
}
