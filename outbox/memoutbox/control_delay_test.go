package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/admin"
)

// brokenDelays are the ways of delaying a message that send it early, twice, out of its
// place or never.
func brokenDelays() []negative {
	return []negative{
		{"delays are ignored", undelayed, map[string]string{
			"O1_DelayedIsNeverEarly":         "before its time",
			"O5_DelayedTakesItsPlaceWhenDue": "want [at once first second third]",
		}},
		{"a message is due before its time", early, map[string]string{
			"O1_DelayedIsNeverEarly": "before its time",
		}},
		{"a delayed message is stored beside its transaction", delayedBeside, map[string]string{
			"O1_DelayedExistsIffCommitted": "later false",
		}},
		{"a message is moved twice", promotedTwice, map[string]string{
			"O10_DelayedByTwoPromoters":      "twice or never committed [",
			"O2_DelayedSurvivesItsPromoter":  "twice or never committed [",
			"O5_DelayedTakesItsPlaceWhenDue": "want [",
		}},
		{"a promoter that is cut off loses what it holds", losesWhatItHolds, map[string]string{
			"O2_DelayedSurvivesItsPromoter": "records that are due have come",
		}},
		{"the event is when the message is sent", eventWhenDue, map[string]string{
			"O4_DelayedKeepsEveryField": "is not that of its Enqueue",
		}},
		{"what is due is moved in any order", anyOrderWhenDue, map[string]string{
			"O5_DelayedTakesItsPlaceWhenDue": "want [",
			"O10_DelayedByTwoPromoters":      "was expected",
		}},
		{"a delayed message does not wait for its key", overtakesItsKey, map[string]string{
			"O5_DelayedWaitsForItsKey": "while a transaction holds the key",
		}},
		{"a cancelled message is sent", cancelsNothing, map[string]string{
			"O2_CancelledIsNeverSent": "cancel of",
		}},
	}
}

// changedDelay makes change to every NotBefore.
func changedDelay(c *control, change func(at time.Time) time.Time) {
	changed(c, func(m *outbox.Message) {
		if !m.NotBefore.IsZero() {
			m.NotBefore = change(m.NotBefore)
		}
	})
}

func undelayed(c *control) {
	changedDelay(c, func(time.Time) time.Time { return time.Time{} })
}

func early(c *control) {
	changedDelay(c, func(at time.Time) time.Time { return at.Add(-50 * time.Millisecond) })
}

func delayedBeside(c *control) {
	c.enqueue = func(ctx context.Context, tx *Tx, msgs []outbox.Message) error {
		if err := c.Enqueue(ctx, tx, msgs...); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.later = append(c.later, tx.later...)
		tx.later = nil
		return nil
	}
}

// onDue has the promoter first do this to what is due.
func onDue(c *control, do func(c *control, ctx context.Context, due []*outbox.Record)) {
	c.promote = func(ctx context.Context) {
		c.mu.Lock()
		defer c.mu.Unlock()
		var due []*outbox.Record
		for i := range c.later {
			if !c.later[i].NotBefore.After(time.Now()) {
				due = append(due, &c.later[i])
			}
		}
		do(c, ctx, due)
	}
}

func promotedTwice(c *control) {
	onDue(c, func(c *control, _ context.Context, due []*outbox.Record) {
		var again []outbox.Record
		for _, r := range due {
			again = append(again, *r)
		}
		c.later = append(c.later, again...)
	})
}

func losesWhatItHolds(c *control) {
	onDue(c, func(c *control, ctx context.Context, due []*outbox.Record) {
		if ctx.Err() != nil && len(due) > 0 {
			lost := due[0].ID
			c.later = slices.DeleteFunc(c.later, func(r outbox.Record) bool { return r.ID == lost })
		}
	})
}

func eventWhenDue(c *control) {
	onDue(c, func(_ *control, _ context.Context, due []*outbox.Record) {
		for _, r := range due {
			r.CreatedAt = r.NotBefore
		}
	})
}

func anyOrderWhenDue(c *control) {
	onDue(c, func(_ *control, _ context.Context, due []*outbox.Record) {
		if len(due) == 0 {
			return
		}
		at := due[0].NotBefore
		for i, r := range due {
			r.NotBefore, r.Seq = at, int64(-i)
		}
	})
}

func overtakesItsKey(c *control) {
	c.promote = func(context.Context) {
		c.mu.Lock()
		defer c.mu.Unlock()
		held := c.locks
		c.locks = make(keyLocks)
		c.Outbox.promote()
		c.locks = held
	}
}

func cancelsNothing(c *control) {
	c.cancel = func(admin.CancelRequest) admin.Changed { return admin.Changed{Count: 1} }
}
