package outboxtest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/fail"
	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
)

// notesOfPoliciesTakeTurns has relays write their group's note at the same time, while operators
// rename and remove the group.
func notesOfPoliciesTakeTurns(ctx context.Context, tr *trial) {
	const relays, times = 4, 5
	fail.If(tr.acquire(ctx).Release(ctx))
	tr.writesBetween(ctx)
	var all sync.WaitGroup
	errs := make([]error, relays)
	for i := range relays {
		src := keeperOf(tr.Source(testGroup))
		all.Go(func() {
			for range times {
				kept, err := src.KeepPolicies(ctx, func(note string, _ time.Time) string { return note + strconv.Itoa(i) })
				if err == nil && !kept {
					err = errNotKept
				}
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	all.Wait()
	fail.If(errors.Join(errs...), "keep policies")
	note := tr.noteOf(ctx, testGroup)
	for i := range relays {
		if n := strings.Count(note, strconv.Itoa(i)); n != times {
			fail.With("relay %d has written %d times, and its note has it %d times: %q", i, times, n, note)
		}
	}
	manager, ok := tr.Subject.(admin.Manager)
	if !ok {
		return
	}
	const name = "renamed"
	_, err := manager.RenameGroup(ctx, admin.GroupRequest{By: by(), Group: testGroup, Name: name})
	fail.If(err, "rename")
	if renamed := tr.noteOf(ctx, name); renamed != note {
		fail.With("note of a group that was renamed: %q, want %q", renamed, note)
	}
	_, err = manager.RemoveGroup(ctx, admin.GroupRequest{By: by(), Group: name})
	fail.If(err, "remove")
	fail.If(acquireFrom(ctx, tr.Source(name)).Release(ctx))
	if again := tr.noteOf(ctx, name); again != "" {
		fail.With("note of a group that was removed: %q, want none", again)
	}
}

// writesBetween has a relay write while another one has read the note and not written its own yet.
func (tr *trial) writesBetween(ctx context.Context) {
	slow, fast := keeperOf(tr.Source(testGroup)), keeperOf(tr.Source(testGroup))
	var seen []string
	var between error
	_, err := slow.KeepPolicies(ctx, func(note string, _ time.Time) string {
		if seen = append(seen, note); len(seen) == 1 {
			_, between = fast.KeepPolicies(ctx, func(note string, _ time.Time) string { return note + "fast " })
		}
		return note + "slow "
	})
	fail.If(errors.Join(err, between), "keep policies")
	if note := tr.noteOf(ctx, testGroup); note != "fast slow " {
		fail.With("two relays have written in turn, one of them after it has read %q: the note is %q", seen, note)
	}
}

// noteOf returns the note of a group, by the store's clock.
func (tr *trial) noteOf(ctx context.Context, group string) (kept string) {
	began := time.Now()
	_, err := keeperOf(tr.Source(group)).KeepPolicies(ctx, func(note string, now time.Time) string {
		if off := now.Sub(began).Abs(); off > time.Hour { // test servers are on this machine
			fail.With("the clock of the source is off by %s", off)
		}
		kept = note
		return note
	})
	fail.If(err, "read the note")
	return kept
}

func keeperOf(src driver.Source) driver.PolicyKeeper {
	keeper, ok := src.(driver.PolicyKeeper)
	if !ok {
		fail.Now(errNoPolicies)
	}
	return keeper
}

var (
	errNoPolicies = errors.New("sessions are driver.Holders, and the source is not a driver.PolicyKeeper: a relay would give up what another one keeps")
	errNotKept    = errors.New("nothing is kept, although the group was read")
)
