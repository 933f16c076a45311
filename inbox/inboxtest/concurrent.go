package inboxtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/internal/fail"
)

// promptly is how long an inbox that waits for nothing may take.
const promptly = 5 * time.Second

// concurrentChecks are about I5: concurrent duplicates never both commit, and
// the loser neither waits for the winner nor holds a connection.
func concurrentChecks() []Check {
	return []Check{
		{Name: "I5_ConcurrentDuplicatesNeverBothCommit", run: checkBothCommit},
		{Name: "I5_LoserDoesNotWaitForTheWinner", run: checkLoserReturns, skip: nobodyIsBusy},
		{Name: "I5_LoserHoldsNoConnection", run: checkLoserHoldsNothing, skip: nobodyIsBusy},
		{Name: "I5_LoserAtTheCommitIsADuplicate", run: checkLoserAtCommit, skip: pessimistic},
		{Name: "I5_ClaimIsReleasedWithTheTransaction", run: checkRelease},
	}
}

// checkBothCommit brings two deliveries into the handler at once, if the inbox
// lets it.
func checkBothCommit(ctx context.Context, s Subject) {
	p := open(s)
	var (
		group    sync.WaitGroup
		firstIn  = make(chan struct{})
		moveOn   = make(chan struct{}) // closed when the second has entered the handler or was refused
		inOnce   = sync.OnceFunc(func() { close(firstIn) })
		moveOnce = sync.OnceFunc(func() { close(moveOn) })
		errs     [2]error
	)
	group.Go(func() {
		errs[0] = untilAcked(ctx, p, "a", func(txCtx context.Context) error {
			inOnce()
			return errors.Join(await(ctx, "the second delivery", moveOn), s.Write(txCtx, "a"))
		})
	})
	group.Go(func() {
		if errs[1] = await(ctx, "the first delivery", firstIn); errs[1] != nil {
			return
		}
		_, _ = deliver(ctx, p, newMessage(ctx, "a"), func(ctx context.Context) error {
			moveOnce()
			return s.Write(ctx, "a")
		})
		moveOnce()
		errs[1] = untilAcked(ctx, p, "a", writing(s, "a"))
	})
	group.Wait()
	fail.IfAny(errs[0], errs[1], wantEffects(ctx, s, "a"))
}

func checkLoserReturns(ctx context.Context, s Subject) {
	p, err := s.Open(consumer, inbox.Config{BusyDelay: inbox.NoDelay})
	fail.If(err)
	fail.IfAny(
		probe(ctx, s, p, "a", func() error {
			loser, cancel := context.WithTimeout(ctx, promptly)
			defer cancel()
			return wantOutcome(loser, p, "a", inbox.OutcomeBusy, inbox.ErrBusy, writing(s, "never"))
		}),
		wantEffects(ctx, s, "a"),
	)
}

// checkLoserAtCommit processes a copy of a message while the handler runs: the delivery that
// commits later is a duplicate, is acked, and leaves nothing behind.
func checkLoserAtCommit(ctx context.Context, s Subject) {
	p := open(s)
	for i := range 5 {
		id := strconv.Itoa(i)
		fail.If(wantOutcome(ctx, p, id, inbox.OutcomeDuplicate, nil, func(txCtx context.Context) error {
			return errors.Join(
				s.Write(txCtx, "of the loser"),
				wantOutcome(ctx, p, id, inbox.OutcomeCommitted, nil, writing(s, id)),
			)
		}))
	}
	fail.If(wantEffects(ctx, s, "0", "1", "2", "3", "4"))
}

// checkLoserHoldsNothing has more losers wait than there are connections, and checks that other
// messages are still processed. The losers wait much longer than that may take.
func checkLoserHoldsNothing(ctx context.Context, s Subject) {
	const losers, others = 3 * Connections, 25

	came, source := make(chan struct{}, 100), inbox.DefaultIDSource()
	p, err := s.Open(consumer, inbox.Config{BusyDelay: time.Minute, IDFrom: inbox.IDSource{Name: source.Name, Find: func(msg *message.Message) (string, error) {
		if msg.UUID == "a" {
			came <- struct{}{}
		}
		return source.Find(msg)
	}}})
	fail.If(err)
	want := []string{"a"}
	err = probe(ctx, s, p, "a", func() error {
		var group sync.WaitGroup
		defer group.Wait()
		losing, cancel := context.WithCancel(ctx)
		defer cancel()
		for range losers {
			group.Go(func() { _, _ = deliver(losing, p, newMessage(losing, "a"), writing(s, "never")) })
		}
		for range 1 + losers {
			if err := await(ctx, "the losers", came); err != nil {
				return err
			}
		}
		working, done := context.WithTimeout(ctx, promptly)
		defer done()
		for i := range others {
			id := "other" + strconv.Itoa(i)
			want = append(want, id)
			if err := untilAcked(working, p, id, writing(s, id)); err != nil {
				return fmt.Errorf("while %d losers wait: %w", losers, err)
			}
		}
		return nil
	})
	fail.IfAny(err, wantEffects(ctx, s, want...))
}

// checkRelease checks that a claim is free as soon as Process has returned.
func checkRelease(ctx context.Context, s Subject) {
	p := open(s)
	for i := range 20 {
		id := strconv.Itoa(i)
		fail.IfAny(
			wantOutcome(ctx, p, id, inbox.OutcomeFailed, errHandler, func(context.Context) error { return errHandler }),
			wantOutcome(ctx, p, id, inbox.OutcomeCommitted, nil, func(context.Context) error { return nil }),
			wantOutcome(ctx, p, id, inbox.OutcomeDuplicate, nil, func(context.Context) error { return errHandler }),
		)
	}
}
