package memoutbox

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/admin"
	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/internal/heldqueue"
)

// brokenHolders are the ways of setting records aside that lose, repeat or pass
// them.
func brokenHolders() []negative { //nolint:revive // one table
	return []negative{
		{"followers are forgotten", forgetsFollowers, map[string]string{
			"O6_FollowersWait":                  "due: read",
			"O6_ParkedIsNeverDue":               "parked: read",
			"Relay_O6_ParkedKeyWaitsForRedrive": "set aside: read",
		}},
		{"followers do not wait", hastyFollowers, map[string]string{
			"O6_ParkedIsNeverDue":               "while the key is parked",
			"O6_RetryWaitsItsTime":              "with one behind it",
			"Relay_O6_ParkedKeyWaitsForRedrive": "set aside: read",
		}},
		{"a record is due before its time", impatientRetry, map[string]string{
			"O6_RetryWaitsItsTime": "to be tried in an hour",
		}},
		{"what a clock was wrong about waits", patientRetry, map[string]string{
			"O14_RetryAfterClockSetBack":       "hastened",
			"Relay_O14_RetryAfterClockSetBack": "deadline exceeded",
		}},
		{"a verdict brings back what was dropped", revives, map[string]string{
			"O6_RetriedIsChanged": "what was dropped while it was under way",
		}},
		{"the held keys are forgotten at a takeover", forgottenKeys, map[string]string{
			"O6_ParkedIsNeverDue":               "held keys",
			"Relay_O6_ParkedKeyWaitsForRedrive": "deadline exceeded",
		}},
		{"a key is called free too early", tooFree, map[string]string{
			"O6_FollowersWait":      "are free",
			"O6_ParkedAfterRetries": "are free",
		}},
		{"a dropped key holds its followers for ever", orphans, map[string]string{
			"O6_DroppedKeyHealsItself": "behind a key that was dropped",
		}},
		{"holding does not move the position", holdsWithoutSettling, map[string]string{
			"O2_HoldStoresThePosition": "after a hold of two records and a crash",
		}},
		{"what is set aside is not seen by an idle read", blindIdle(func(i *driver.Idle) { i.NoneHeld = true }), map[string]string{
			"O6_IdleReadKnowsWhatIsHeld": "a record is parked",
		}},
		{"what is paused is not seen by an idle read", blindIdle(func(i *driver.Idle) { i.Paused = nil }), map[string]string{
			"O6_IdleReadKnowsWhatIsHeld": "topics are paused",
		}},
		{"a repeated call holds twice", holdsAgain, map[string]string{
			"O2_HoldTwiceIsHoldOnce": "read",
		}},
		{"records are set aside without an epoch check", unfencedHold, map[string]string{
			"O9_StaleEpochHoldsNothing":   "hold under a lost lease",
			"Relay_O9_ZombieParksNothing": "without its lease",
		}},
		{"verdicts are stored without an epoch check", unfencedResolve, map[string]string{
			"O9_StaleEpochResolvesNothing": "resolve under a lost lease",
		}},
		{"a relay writes over the policies of others", overwrites, map[string]string{
			"O6_NotesOfPoliciesTakeTurns": `after it has read [""]: the note is "slow "`,
		}},
		{"a relay reads its own policies alone", selfish, map[string]string{
			"Relay_O6_LeastLosingPolicyCounts": "want 2 policies",
		}},
		{"an outage counts as an attempt", countsOutages, map[string]string{
			"Relay_O7_OutageDelaysNoOtherTopic": "deadline exceeded",
			"Relay_O8_OutageCountsNothing":      "after everything is back",
		}},
		{"what is dead is parked", parksTheDead, map[string]string{
			"O6_DeadAndSkippedGoOn":           "dead: read",
			"Relay_O6_DeadRecordLetsItsKeyGo": "want [a y]",
		}},
		{"records without a key wait for one another", unorderedWait, map[string]string{
			"O6_UnorderedIsHeldAlone": "behind a parked record without a key",
		}},
		{"keys are compared as a collation does", collates, map[string]string{
			"O6_KeysAreBytes": "keys that are not the parked one",
		}},
		{"topics that are out are due", ignoresExcept, map[string]string{
			"O8_TopicsThatAreOutAreNotDue": "due: read",
		}},
		{"everything that is due is read at once", endlessDue, map[string]string{
			"O14_DueIsBoundedInBytes": "bytes",
		}},
		{"a held copy is another", changedCopies, map[string]string{
			"O4_HeldCopiesAreIdentical": "enqueued and read: field Payload",
		}},
		{"records cannot be set aside", blocksAtThePage, map[string]string{
			"Relay_O7_PoisonDelaysNoOther":      "behind a key that is refused",
			"Relay_O7_OutageDelaysNoOtherTopic": "while another topic is out",
			"Relay_O6_ParkedKeyWaitsForRedrive": "set aside: read",
		}},
	}
}

// overwrites has each source go by what it has written itself.
func overwrites(c *control) {
	c.keep = func(s *source, change func(note string, now time.Time) string) {
		note, _ := s.note()
		s.store(change(note, time.Now()))
	}
}

func selfish(c *control) {
	c.keep = func(s *source, change func(note string, now time.Time) string) {
		s.store(change("", time.Now()))
	}
}

// store stores a note, whatever is there.
func (s *source) store(note string) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	s.ob.notes[s.group] = note
}

// holder has the sessions of a control be what change makes of them.
func holder(c *control, change func(s *session, c *controlSession)) {
	c.session = func(s *session) driver.Session {
		changed := controlSession{session: s}
		change(s, &changed)
		return changed
	}
}

// changedHold has a control hold what change makes of each record;
// where that reports false, nothing of it.
func changedHold(c *control, change func(h *driver.Holding) bool) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			changed := slices.Clone(h)[:0]
			for _, one := range h {
				if change(&one) {
					changed = append(changed, one)
				}
			}
			return s.Hold(ctx, p, n, changed)
		}
	})
}

// blindIdle tells something else of what is beside the log.
func blindIdle(change func(i *driver.Idle)) func(c *control) {
	return func(c *control) {
		holder(c, func(s *session, c *controlSession) {
			c.read = func(ctx context.Context, limit int) (driver.Page, error) {
				p, err := s.Read(ctx, limit)
				if p.Idle != nil {
					change(p.Idle)
				}
				return p, err
			}
		})
	}
}

func forgetsFollowers(c *control) {
	changedHold(c, func(h *driver.Holding) bool { return h.Fate != driver.FateWait })
}

// spoil changes the held rows of the session's group behind the machine's back.
func (s *session) spoil(ctx context.Context, change func(r *heldqueue.Row)) error {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	rows := s.held().Rows()
	for i := range rows {
		change(&rows[i])
	}
	return s.held().Update(ctx, rows)
}

func hastyFollowers(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			err := s.Hold(ctx, p, n, h)
			return errors.Join(err, s.spoil(ctx, func(r *heldqueue.Row) {
				if r.State == heldqueue.Wait {
					r.State, r.Next = heldqueue.Retry, clock()
				}
			}))
		}
	})
}

func impatientRetry(c *control) {
	changedHold(c, func(h *driver.Holding) bool {
		h.RetryIn = 0
		return true
	})
}

func forgottenKeys(c *control) {
	holder(c, func(_ *session, c *controlSession) {
		c.keys = func(context.Context) ([]driver.Key, error) { return nil, nil }
	})
}

func tooFree(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.resolve = func(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
			_, err := s.Resolve(ctx, v)
			var free []driver.Key
			for i := range v {
				free = append(free, driver.Key{Topic: v[i].Record.Topic, Key: v[i].Record.Key})
			}
			return slices.Compact(free), err
		}
	})
}

func orphans(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			err := s.Hold(ctx, p, n, h)
			return errors.Join(err, s.spoil(ctx, func(r *heldqueue.Row) {
				waits := func(one driver.Holding) bool {
					return one.Fate == driver.FateWait && p.Records[one.Index].Seq == r.Seq
				}
				if slices.ContainsFunc(h, waits) {
					r.State, r.Next = heldqueue.Wait, time.Time{}
				}
			}))
		}
	})
}

func holdsWithoutSettling(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			s.ob.mu.Lock()
			before := s.pos
			s.ob.mu.Unlock()
			err := s.Hold(ctx, p, n, h)
			s.ob.mu.Lock()
			defer s.ob.mu.Unlock()
			s.group.pos = before
			return err
		}
	})
}

func holdsAgain(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, n int, h []driver.Holding) error {
			s.ob.mu.Lock()
			defer s.ob.mu.Unlock()
			_, err := s.settle(p, n)
			return errors.Join(err, s.hold(ctx, p, h))
		}
	})
}

func unfencedHold(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.hold = func(ctx context.Context, p driver.Page, _ int, h []driver.Holding) error {
			s.ob.mu.Lock()
			defer s.ob.mu.Unlock()
			return s.hold(ctx, p, h)
		}
	})
}

// revives holds again what a verdict is about, as one does who stores it without a look.
func revives(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.resolve = func(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
			s.ob.mu.Lock()
			defer s.ob.mu.Unlock()
			var page driver.Page
			var again []driver.Holding
			for i := range v {
				if v[i].Fate == driver.FateRetry || v[i].Fate == driver.FatePark {
					again = append(again, driver.Holding{Index: len(page.Records), Fate: v[i].Fate})
					page.Records = append(page.Records, *v[i].Record)
				}
			}
			free, err := s.resolve(ctx, v)
			return free, errors.Join(err, s.hold(ctx, page, again))
		}
	})
}

func unfencedResolve(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.resolve = func(ctx context.Context, v []driver.Verdict) ([]driver.Key, error) {
			s.ob.mu.Lock()
			defer s.ob.mu.Unlock()
			return s.resolve(ctx, v)
		}
	})
}

// countsOutages parks what is held without an attempt.
func countsOutages(c *control) {
	changedHold(c, func(h *driver.Holding) bool {
		if h.Fate == driver.FateRetry && len(h.Attempts) == 0 {
			h.Fate = driver.FatePark
		}
		return true
	})
}

func patientRetry(c *control) {
	holder(c, func(_ *session, c *controlSession) { c.hasten = func() error { return nil } })
}

func ignoresExcept(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.due = func(ctx context.Context, limit int, _ []string) ([]driver.Held, error) { return s.Due(ctx, limit, nil) }
	})
}

func endlessDue(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.due = func(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
			return s.dueWithin(ctx, limit, math.MaxInt, except)
		}
	})
}

func parksTheDead(c *control) {
	changedHold(c, func(h *driver.Holding) bool {
		if h.Fate == driver.FateDead {
			h.Fate = driver.FatePark
		}
		return true
	})
}

func unorderedWait(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.due = func(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
			parked, err := s.ob.Admin().Held(ctx, admin.HeldQuery{Group: s.name, State: admin.HeldParked})
			if err != nil || slices.ContainsFunc(parked, func(h admin.HeldRecord) bool { return h.Key == "" }) {
				return nil, err
			}
			return s.Due(ctx, limit, except)
		}
	})
}

func collates(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.due = func(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
			parked, err := s.ob.Admin().ParkedKeys(ctx, admin.KeysQuery{Group: s.name})
			if err != nil {
				return nil, err
			}
			due, err := s.Due(ctx, limit, except)
			return slices.DeleteFunc(due, func(r driver.Held) bool {
				return slices.ContainsFunc(parked, func(k admin.ParkedKey) bool { return collate(k.Key.Key) == collate(r.Key) })
			}), err
		}
	})
}

func changedCopies(c *control) {
	holder(c, func(s *session, c *controlSession) {
		c.due = func(ctx context.Context, limit int, except []string) ([]driver.Held, error) {
			due, err := s.Due(ctx, limit, except)
			for i := range due {
				due[i].Payload = append([]byte("held "), due[i].Payload...)
			}
			return due, err
		}
	})
}

// blocksAtThePage has sessions that are not Holders, as of a source that cannot
// set records aside.
func blocksAtThePage(c *control) {
	c.session = func(s *session) driver.Session { return plainSession{s} }
}

// plainSession is a session and nothing more.
type plainSession struct {
	driver.Session
}
