package memoutbox

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// brokenPositions are the ways of keeping a position that lose or repeat.
func brokenPositions() []negative {
	return []negative{
		{"reading settles", settleOnRead, map[string]string{
			"O12_ReleaseKeepsTheExactPosition":     "settled nothing, then released",
			"O12_CrashNeverSkips":                  "settled nothing",
			"O12_ReadIsNotSettled":                 "after a session that settled nothing",
			"Relay_O12_PositionStopsAtTheFailure":  "after 7 of 12 were acknowledged",
			"Relay_O12_KilledBetweenAckAndAdvance": "after the kill",
		}},
		{"a settled page settles the pages ahead", settleAhead, map[string]string{
			"O12_ReleaseKeepsTheExactPosition": "settled a part of the first page",
			"O12_CrashNeverSkips":              "settled a part of the first page",
		}},
		{"a part of a page settles all of it", settleWholePages, map[string]string{
			"O12_ReleaseKeepsTheExactPosition":    "settled a part of the first page",
			"Relay_O12_PositionStopsAtTheFailure": "after 7 of 12 were acknowledged",
		}},
		{"the position is not kept", forgetful, map[string]string{
			"O10_NoRepeatsAcrossCleanStops":    "read [1:m-1 1:m-1",
			"O12_ReleaseKeepsTheExactPosition": "11:m-1 12:m-2], want [m-9 m-10]",
			"O12_EmptyReadStoresThePosition":   "after an empty page and a crash",
			"Relay_O10_FaultFreeRunSendsOnce":  "after a clean stop",
			"Relay_O13_CleanStopReleases":      "right after a stop",
			"Relay_O13_StopAwaitsAcks":         "were acknowledged before the stop",
			"Relay_O13_StopEndsAStalledSend":   "was acknowledged before the stop",
			"Relay_O14_StandbyTakesOver":       "run once:",
		}},
		{"all groups share a position", sharedGroups, map[string]string{
			"O12_GroupsAreIndependent": "while another group's lease is held",
		}},
	}
}

func settleOnRead(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{
			session: s,
			read: func(ctx context.Context, limit int) (driver.Page, error) {
				p, err := s.Read(ctx, limit)
				if err == nil && len(p.Records) > 0 {
					err = s.Advance(ctx, p, len(p.Records))
				}
				return p, err
			},
		}
	}
}

// settleAhead stores what was read where it should store what was settled.
func settleAhead(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, advance: func(ctx context.Context, p driver.Page, n int) error {
			if err := s.Advance(ctx, p, n); err != nil {
				return err
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			s.group.pos.done = s.read
			return nil
		}}
	}
}

func settleWholePages(c *control) {
	c.session = func(s *session) driver.Session {
		return controlSession{session: s, advance: func(ctx context.Context, p driver.Page, _ int) error {
			return s.Advance(ctx, p, len(p.Records))
		}}
	}
}

func forgetful(c *control) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		if g := c.groups[slotName{s.group, 0}]; g != nil {
			g.pos = position{}
		}
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

func sharedGroups(c *control) {
	c.group = func(string) string { return "all" }
}
