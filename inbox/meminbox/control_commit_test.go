package meminbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/outbox"
)

// units is a store whose units end in another way. Each of the two is the unbroken thing
// where it is nil.
type units struct {
	*controlStore

	commit, rollback func(ctx context.Context, u held) error
}

// held is a unit with the ids that it has claimed.
type held struct {
	driver.Unit

	s   *controlStore
	ids []string
}

// record makes the ids processed.
func (u held) record() {
	u.s.store.mu.Lock()
	defer u.s.store.mu.Unlock()
	for _, id := range u.ids {
		u.s.store.record(newRow(u.s.consumer, id))
	}
}

// forget makes the ids new again.
func (u held) forget() {
	for _, id := range u.ids {
		u.s.store.release(newRow(u.s.consumer, id))
	}
}

func (s units) Claim(ctx context.Context, id string) (driver.Unit, driver.Status, error) {
	u, status, err := s.controlStore.Claim(ctx, id)
	if u == nil {
		return nil, status, err
	}
	return brokenUnit{held{u, s.controlStore, []string{id}}, s}, status, nil
}

func (s units) ClaimBatch(ctx context.Context, items []driver.BatchItem) (driver.Unit, []driver.Status, error) {
	u, statuses, err := s.controlStore.ClaimBatch(ctx, items)
	if u == nil {
		return nil, statuses, err
	}
	h := held{Unit: u, s: s.controlStore}
	for i, item := range items {
		if statuses[i] == driver.Claimed {
			h.ids = append(h.ids, item.ID)
		}
	}
	return brokenUnit{h, s}, statuses, nil
}

type brokenUnit struct {
	held

	broken units
}

func (u brokenUnit) Commit(ctx context.Context) error {
	if u.broken.commit != nil {
		return u.broken.commit(ctx, u.held)
	}
	return u.held.Commit(ctx)
}

func (u brokenUnit) Rollback(ctx context.Context) error {
	if u.broken.rollback != nil {
		return u.broken.rollback(ctx, u.held)
	}
	return u.held.Rollback(ctx)
}

func onCommit(commit func(ctx context.Context, u held) error) func(c *control) {
	return func(c *control) {
		c.store = func(s *controlStore) driver.Store { return units{controlStore: s, commit: commit} }
	}
}

func onRollback(rollback func(ctx context.Context, u held) error) func(c *control) {
	return func(c *control) {
		c.store = func(s *controlStore) driver.Store { return units{controlStore: s, rollback: rollback} }
	}
}

// brokenEnds are commits and rollbacks that leave something else behind.
func brokenEnds() []negative {
	return []negative{
		{"a commit forgets the ids", onCommit(func(ctx context.Context, u held) error {
			err := u.Commit(ctx)
			u.forget()
			return err
		}), map[string]string{
			"I1_RedeliveryAfterCommitIsADuplicate": "outcome committed, error none; want duplicate",
			"I1_ConcurrentDuplicatesWithFailures":  `["m0" "m0"`,
			"I2_CustomCommitsWithTheRecord":        "outcome committed, error none; want duplicate",
			"I13_CopiesInABatchRunOnce":            `["b" "b"`,
			"I13_LanesWithOverlappingBatches":      `["m0" "m0"`,
		}},
		{"an id is recorded before the handler runs", onRollback(func(ctx context.Context, u held) error {
			err := u.Rollback(ctx)
			u.record()
			return err
		}), map[string]string{
			"I1_RedeliveryAfterRollbackRunsAgain":  `committed effects are [], want ["a"]`,
			"I4_ErrorLeavesNoRecord":               "message a recorded: true",
			"I4_RollbackOnlyLeavesNoRecord":        "message a recorded: true",
			"I4_CancelledContextLeavesNoRecord":    "message a recorded: true",
			"I4_PanicLeavesNoRecord":               "message a recorded: true",
			"I4_GoexitLeavesNoRecord":              "message a recorded: true",
			"I3_CustomThatFailsIsNotAcked":         "message a recorded: true",
			"I13_FailureIsUndoneAlone":             "committed effects are []",
			"I13_NamedFailureIsUndoneAlone":        "committed effects are []",
			"I13_WronglyNamedFailureIsUndoneAlone": "committed effects are []",
			"I13_PanicIsUndoneAlone":               "committed effects are []",
		}},
		{"a commit without an answer is taken for none", onCommit(func(ctx context.Context, u held) error {
			err := u.Commit(ctx)
			if err != nil {
				u.forget()
			}
			return err
		}), map[string]string{
			"I1_AmbiguousCommitThatTookEffect":  "the handler ran 2 times, want 1",
			"I13_AmbiguousCommitThatTookEffect": "messages ran 4 times, want 2",
		}},
		{"a commit without an answer is taken for one", onCommit(func(ctx context.Context, u held) error {
			err := u.Commit(ctx)
			if err != nil {
				u.record()
			}
			return err
		}), map[string]string{
			"I1_AmbiguousCommitThatDidNot":  "the handler ran 1 times, want 2",
			"I13_AmbiguousCommitThatDidNot": "messages ran 2 times, want 4",
		}},
		{"a rollback releases the claim later", onRollback(func(ctx context.Context, u held) error {
			time.AfterFunc(time.Second, func() { _ = u.Rollback(context.WithoutCancel(ctx)) })
			return nil
		}), map[string]string{"I5_ClaimIsReleasedWithTheTransaction": "outcome busy"}},
	}
}

// brokenTransactions have something in them that does not belong to them.
func brokenTransactions() []negative {
	return []negative{
		{"effects are written at once", func(c *control) {
			c.write = func(effect string) {
				c.subject.mu.Lock()
				defer c.subject.mu.Unlock()
				c.effects = append(c.effects, effect)
			}
		}, map[string]string{
			"I2_NothingIsVisibleBeforeTheCommit": `committed effects are ["a"], want []`,
			"I2_AFailedCommitKeepsNothing":       `committed effects are ["a" "before"]`,
			"I2_FailedEnqueueKeepsNothing":       `committed effects are ["a" "a"]`,
		}},
		{"messages are lost", func(c *control) {
			c.enqueue = func([]outbox.Message) {}
		}, map[string]string{
			"I2_EffectsRecordAndMessagesCommitTogether": "enqueued messages are []",
			"I2_DeadLetterCommitsWithTheRecord":         "enqueued messages are []",
		}},
		{"messages are sent at once", func(c *control) {
			c.enqueue = func(msgs []outbox.Message) {
				c.subject.mu.Lock()
				defer c.subject.mu.Unlock()
				for _, m := range msgs {
					c.enqueued = append(c.enqueued, m.ID)
				}
			}
		}, map[string]string{
			"I2_AFailedCommitKeepsNothing":       `enqueued messages are ["child"]`,
			"I2_RedriveEnqueuesInItsTransaction": `enqueued messages are ["child" "child"]`,
		}},
	}
}
