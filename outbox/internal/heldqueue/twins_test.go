package heldqueue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// twins are the queue in PostgreSQL's SQL and the one in Go, which do the same.
type twins struct {
	postgres *postgres
	memory   *memory

	ids       []string
	now, then []driver.Held // what is due, and was a step earlier
	audited   [2]int64      // the last entries that were compared
}

// follow runs a script on both and compares them after each step. The error is a
// *difference if they differ.
func follow(ctx context.Context, p *postgres, script []step, spoil func(tx heldqueue.Tx) heldqueue.Tx) (err error) {
	if err := p.empty(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.session.Release(ctx)) }()
	w := &twins{postgres: p, memory: newMemory()}
	w.memory.spoil = spoil
	for i := range script {
		w.memory.relay = heldqueue.Relay{Owner: p.owner, Epoch: p.session.Epoch()}
		if err := w.do(ctx, &script[i]); err != nil {
			return fmt.Errorf("step %d, %+v: %w", i, script[i], err)
		}
		if err := w.look(ctx); err != nil {
			return fmt.Errorf("after step %d, %+v: %w", i, script[i], err)
		}
	}
	return nil
}

func (w *twins) do(ctx context.Context, s *step) error {
	switch s.Do {
	case "hold":
		return w.hold(ctx, s)
	case "due":
		return w.due(ctx, s.Limit, s.Except)
	case "resolve":
		return w.resolve(ctx, s)
	case "pass":
		w.memory.ahead += pass
		return w.postgres.pass(ctx, pass)
	case "take_over":
		return errors.Join(w.postgres.session.Release(ctx), w.postgres.acquire(ctx))
	default:
		return w.ask(ctx, s)
	}
}

// hold holds a page of new records.
func (w *twins) hold(ctx context.Context, s *step) error {
	page, err := w.postgres.page(ctx, s.Records)
	if err != nil {
		return err
	}
	var h []driver.Holding
	for i := range s.Records {
		w.ids = append(w.ids, page.Records[i].ID)
		if !s.Records[i].Skip {
			h = append(h, s.Records[i].holding(i))
		}
	}
	if err := w.postgres.session.Hold(ctx, page, len(page.Records), h); err != nil {
		return err
	}
	return w.memory.hold(ctx, page.Records, h)
}

// due compares what is due. If more is due at first hand than is wanted, either side may
// choose, and each is held to the invariant.
func (w *twins) due(ctx context.Context, limit int, except []string) error {
	theirs, err := w.postgres.session.Due(ctx, limit, except)
	if err != nil {
		return err
	}
	ours, err := w.memory.due(ctx, limit, except)
	if err != nil {
		return err
	}
	w.now, w.then = theirs, w.now
	rows, want := w.memory.rows.Rows(), heldqueue.Want{Except: except, Limit: limit}
	for who, due := range map[string][]driver.Held{"PostgreSQL": theirs, "memory": ours} {
		if err := heldqueue.CheckDue(rows, due, w.memory.now(), want); err != nil {
			return &difference{who + ": " + err.Error()}
		}
	}
	firsts, err := w.memory.rows.Due(ctx, heldqueue.DueQuery{By: w.memory.now(), Except: except, Limit: 1000})
	if err != nil || len(firsts) > limit {
		return err
	}
	return same("due", shownDue(theirs), shownDue(ours))
}

// resolve resolves some of what is due, or was.
func (w *twins) resolve(ctx context.Context, s *step) error {
	due := w.now
	if s.Stale {
		due = w.then
	}
	var v []driver.Verdict
	for i := range min(len(due), len(s.Verdicts)) {
		if !s.Verdicts[i].Skip {
			v = append(v, s.Verdicts[i].verdict(&due[i].Record))
		}
	}
	theirs, err := w.postgres.session.Resolve(ctx, v)
	if err != nil {
		return err
	}
	ours, err := w.memory.resolve(ctx, v)
	return errors.Join(err, same("free keys", sortedKeys(theirs), sortedKeys(ours)))
}

// ask asks both for what an operator wants.
func (w *twins) ask(ctx context.Context, s *step) error {
	theirs, refusal := ask(ctx, w.postgres.Admin(), s, s.selection(time.Now(), w.ids))
	ours, err := ask(ctx, w.memory, s, s.selection(w.memory.now(), w.ids))
	told := same("oldest is told", !theirs.Oldest.IsZero(), !ours.Oldest.IsZero())
	theirs.Oldest, ours.Oldest = time.Time{}, time.Time{} // of two clocks
	return errors.Join(same("answer", kindOf(refusal), kindOf(err)), same("changed", theirs, ours), told)
}

func ask(ctx context.Context, a operators, s *step, sel admin.Selection) (admin.Changed, error) {
	switch s.Do {
	case "redrive":
		return a.Redrive(ctx, admin.ChangeRequest{By: s.by(), Group: group, Selection: sel})
	case "drop":
		return a.Drop(ctx, admin.ChangeRequest{By: s.by(), Group: group, Selection: sel})
	default:
		return a.SkipHead(ctx, admin.SkipHeadRequest{By: s.by(), Group: group, Key: driver.Key{Topic: s.Topic, Key: s.Key}})
	}
}
