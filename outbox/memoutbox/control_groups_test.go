package memoutbox

import (
	"context"
	"slices"
	"time"

	"github.com/leat-go/leat/outbox/driver"
)

// brokenGroups are groups that begin elsewhere, or read the topics of others.
func brokenGroups() []negative {
	return []negative{
		{"every group begins at the oldest record", alwaysOldest, map[string]string{
			"O2_StartIsWhereItSays": `new group "now"`,
			"O2_StartOfEverySlot":   `new group "now"`,
		}},
		{"every stated start is now", alwaysNow, map[string]string{
			"O2_StartIsWhereItSays": `new group "at"`,
		}},
		{"what was enqueued before the start is left out", startsByNumber, map[string]string{
			"O2_StartIsWhereItSays": `group "now", what committed after it began`,
			"O2_StartOfEverySlot":   `group "now", what committed after it began`,
		}},
		{"a group begins anew with every session", beginsAnew, map[string]string{
			"O12_StartIsForNewGroups": "told to begin now",
		}},
		{"topics are ignored", allTopics, map[string]string{
			"O2_GroupReadsItsTopics":                  "want [orders.eu",
			"O2_SlotReadsItsTopics":                   "slot 0: read",
			"O12_PositionPassesOtherTopics":           "a record of another topic",
			"O12_TopicsChangeFromWhereTheGroupStands": "of topic a",
		}},
		{"wildcards of SQL are taken for ours", wildcardsOfSQL, map[string]string{
			"O2_GroupReadsItsTopics": "want [orders.eu",
		}},
		{"the position stands while nothing is its own", standsStill, map[string]string{
			"O12_PositionPassesOtherTopics": "after 4 records of other topics were passed",
		}},
		{"the first topics stay", firstTopics, map[string]string{
			"O12_TopicsChangeFromWhereTheGroupStands": "after b was added",
		}},
		{"topics are not compared", func(c *control) {
			moved(c, func(s *source, _ *sharing, g *group) { s.ob.setTopics(g, s.topics) })
		}, map[string]string{
			"O2_NarrowerTopicsLeaveNothingBehind": "acquire for fewer topics",
			"O2_TopicsOfTheLeaderCount":           "want the topics of the one that leads",
			"Admin_TopicsAreSet":                  "acquire after a dry run",
		}},
		{"topics are compared in the first slot alone", func(c *control) {
			moved(c, func(s *source, h *sharing, _ *group) {
				if h.slots > 1 {
					s.ob.setTopics(s.slotOf(1), s.topics)
				}
			})
		}, map[string]string{
			"O2_NarrowerTopicsOfEachSlot": "acquire of slot 1 for fewer topics",
		}},
		{"a group begins anew with other topics", beginsAnewWithTopics, map[string]string{
			"O12_TopicsChangeFromWhereTheGroupStands": "after b was added",
			"O12_PositionPassesOtherTopics":           "after 4 records of other topics were passed",
		}},
	}
}

// configured makes change to every group.
func configured(c *control, change func(cfg *SourceConfig)) {
	c.config = change
}

func alwaysOldest(c *control) {
	configured(c, func(cfg *SourceConfig) { cfg.Start = driver.Start{} })
}

func alwaysNow(c *control) {
	configured(c, func(cfg *SourceConfig) {
		if cfg.Start.IsStated() {
			cfg.Start = driver.Start{Now: true}
		}
	})
}

func allTopics(c *control) {
	configured(c, func(cfg *SourceConfig) { cfg.Topics = nil })
}

func wildcardsOfSQL(c *control) {
	configured(c, func(cfg *SourceConfig) {
		if len(cfg.Topics) > 1 && cfg.Topics[1] == `100%_\*` {
			cfg.Topics = []string{cfg.Topics[0], "100*"}
		}
	})
}

func firstTopics(c *control) {
	first := make(map[string][]string) // a check of topics opens one group after another
	configured(c, func(cfg *SourceConfig) {
		if _, known := first[cfg.Group]; !known {
			first[cfg.Group] = cfg.Topics
		}
		cfg.Topics = first[cfg.Group]
	})
}

// startsByNumber leaves out what had a number when the group began, committed or not.
func startsByNumber(c *control) {
	began := make(map[string]int64) // by group; guarded by ob.mu
	c.session = func(s *session) driver.Session {
		c.mu.Lock()
		if _, known := began[s.name]; !known {
			began[s.name] = c.seq
		}
		after := began[s.name]
		c.mu.Unlock()
		if s.name != "now" {
			return s
		}
		return controlSession{session: s, read: func(ctx context.Context, limit int) (driver.Page, error) {
			for {
				p, err := s.Read(ctx, limit)
				if err != nil || len(p.Records) == 0 || p.Records[0].Seq > after {
					return p, err
				}
				if err := s.Advance(ctx, p, len(p.Records)); err != nil {
					return p, err
				}
			}
		}}
	}
}

// moved moves the group, before a session begins, to where change
// says.
func moved(c *control, change func(s *source, h *sharing, g *group)) {
	c.acquire = func(ctx context.Context, s *source, ttl time.Duration) (driver.Session, error) {
		c.mu.Lock()
		change(s, s.sharing(), s.slotOf(0))
		c.mu.Unlock()
		return s.Acquire(ctx, ttl)
	}
}

func beginsAnew(c *control) {
	moved(c, func(s *source, h *sharing, g *group) {
		if h.started && s.begin.IsStated() {
			at := s.ob.outset(s.begin)
			g.pos = position{from: at, to: at}
		}
	})
}

func beginsAnewWithTopics(c *control) {
	moved(c, func(s *source, _ *sharing, g *group) {
		if !slices.Equal(g.topics, s.topics) {
			g.pos, g.topics = position{}, s.topics
		}
	})
}

// standsStill stores a position with a record of the group's own only.
func standsStill(c *control) {
	c.session = func(s *session) driver.Session {
		c.mu.Lock()
		own := s.pos
		c.mu.Unlock()
		return controlSession{
			session: s,
			read: func(ctx context.Context, limit int) (driver.Page, error) {
				p, err := s.Read(ctx, limit)
				c.mu.Lock()
				defer c.mu.Unlock()
				if len(p.Records) == 0 {
					s.group.pos = own
				}
				return p, err
			},
			advance: func(ctx context.Context, p driver.Page, n int) error {
				err := s.Advance(ctx, p, n)
				c.mu.Lock()
				defer c.mu.Unlock()
				own = s.pos
				return err
			},
		}
	}
}
