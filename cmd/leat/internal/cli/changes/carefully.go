package changes

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/leat-go/leat/cmd/leat/internal/cli/command"
	"github.com/leat-go/leat/cmd/leat/internal/show"
	"github.com/leat-go/leat/internal/wait"
	"github.com/leat-go/leat/outbox/admin"
)

// Carefully are the flags of redrives that proceed in steps.
type Carefully struct {
	Canary int `placeholder:"N" help:"Records to try first, 1 to 1000; the rest follows once these are sent. Defaults to all at once."`
	Rate   int `placeholder:"N" help:"Records a second, 1 to 100000. Defaults to no bound."`
}

// Check rejects flags that exclude each other.
func (c Carefully) Check() error {
	const mostCanaries = 1000
	switch {
	case c.Canary < 0 || c.Canary > mostCanaries:
		return command.Usage("--canary", strconv.Itoa(c.Canary), "must be 1 to 1000")
	case c.Rate < 0 || c.Rate > MostSelected:
		return command.Usage("--rate", strconv.Itoa(c.Rate), "must be 1 to 100000")
	default:
		return nil
	}
}

// chunk is how many records are changed at a time.
func (c Carefully) chunk(most int) int {
	if c.Rate > 0 {
		return min(most, c.Rate)
	}
	return most
}

// pace waits before the next chunk.
func (c Carefully) pace(ctx context.Context, done int) error {
	if c.Rate == 0 || done == 0 {
		return nil
	}
	return wait.For(ctx, time.Second)
}

// canary changes the first records, and waits until they are sent before the others follow.
func (c RecordChange) canary(planned int, done *admin.Changed) error {
	if c.How.Canary == 0 {
		return nil
	}
	changed, err := c.Do(min(c.How.Canary, planned), false)
	done.Count, done.IDs = changed.Count, changed.IDs
	if err != nil {
		return err
	}
	if err := c.Proved(changed.IDs); err != nil {
		return fmt.Errorf("%w; %s left as they were", err, show.Things(int64(max(planned-done.Count, 0)), c.Thing))
	}
	return nil
}

// canaryPatience is how long a relay may take to try a canary. If no relay lives, or an operator has paused
// it, the canary waits only for the time of a takeover.
const (
	canaryPatience   = time.Minute
	takeoverPatience = 3 * time.Second
)

// Proved waits until redriven records are sent. It returns an error if one of them has failed again, or if
// no relay tries it, and prints at once what a record waits for.
func Proved(d *command.Deps, store admin.Outbox, group string, ids []string) error {
	until := time.Now().Add(canaryPatience)
	for _, id := range ids {
		entries, err := store.Audit(d.Context, admin.AuditQuery{Group: group, Action: "redrive", ID: id, Newest: true, Limit: 1})
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return fmt.Errorf("%w: the audit has no redrive of %q", command.ErrNothing, id)
		}
		if err := (&canary{d: d, store: store, group: group, redriven: entries[0]}).proved(until); err != nil {
			return err
		}
	}
	return nil
}

// canary is a record that was redriven before the others.
type canary struct {
	d        *command.Deps
	store    admin.Outbox
	group    string
	redriven admin.AuditEntry

	// told is the reason that was printed last, looked the time when it was read, and nobody the time since
	// when no relay tries the record.
	told           string
	looked, nobody time.Time
}

func (c *canary) proved(until time.Time) error {
	for {
		sent, err := isSent(c.d, c.store, c.group, c.redriven)
		if err != nil || sent {
			return err
		}
		if err := c.explain(until); err != nil {
			return err
		}
		if err := wait.For(c.d.Context, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// explain prints what the record waits for whenever that has changed. It returns an error if the time to
// wait is over.
func (c *canary) explain(until time.Time) error {
	now := time.Now()
	if now.Sub(c.looked) >= time.Second {
		c.looked = now
		why, never, err := command.KeptFrom(c.d, c.store, c.group, c.redriven.Topic)
		if err != nil {
			return err
		}
		if why != "" && admin.Fingerprint(why) != admin.Fingerprint(c.told) { // the reason includes a duration
			c.d.Note("The first record, %s, waits: %s", show.Cell(c.redriven.ID), show.Plain(why))
		}
		c.told = why
		if !never {
			c.nobody = time.Time{}
		} else if c.nobody.IsZero() {
			c.nobody = now
		}
	}
	if !now.After(until) && (c.nobody.IsZero() || now.Sub(c.nobody) < takeoverPatience) {
		return nil
	}
	return fmt.Errorf("the first record, %s, is redriven and was not tried within %s: %s", show.Cell(c.redriven.ID), show.Duration(now.Sub(until.Add(-canaryPatience))),
		show.Plain(cmp.Or(c.told, "its relay lives and sends others: leat status tells whether it is behind")))
}

// isSent reports whether a redriven record is sent. It returns an error if the record was set aside again.
func isSent(d *command.Deps, store admin.Outbox, group string, redriven admin.AuditEntry) (bool, error) {
	query := admin.HeldQuery{Group: group, After: redriven.Seq - 1, Limit: 1, OmitPayload: true}
	for _, look := range []HeldLook{store.Held, store.Dead} {
		rows, err := look(d.Context, query)
		if err != nil {
			return false, err
		}
		if len(rows) == 0 || rows[0].Seq != redriven.Seq {
			continue
		}
		r := command.NewHeldRow(rows[0])
		if rows[0].State == admin.HeldRetrying && rows[0].Attempts == 0 {
			return false, nil // its turn comes
		}
		return false, fmt.Errorf("the first record, %s, failed again: %s", show.Cell(redriven.ID), show.Plain(r.Why()))
	}
	last, err := store.Audit(d.Context, admin.AuditQuery{Group: group, ID: redriven.ID, Newest: true, Limit: 1})
	if err == nil && len(last) > 0 && last[0].Seq == redriven.Seq && last[0].Action == "skip" {
		err = fmt.Errorf("the first record, %s, failed again, and was skipped: %s", show.Cell(redriven.ID), show.Plain(last[0].Reason))
	}
	return err == nil, err
}

// MostSelected is the largest limit of a request.
const MostSelected = 100_000

// HeldLook is Held or Dead of an outbox.
type HeldLook func(ctx context.Context, q admin.HeldQuery) ([]admin.HeldRecord, error)
