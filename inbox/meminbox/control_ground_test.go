package meminbox

import (
	"context"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/basis"
)

// namer is a store that notes where ids come from in another way.
type namer struct {
	*controlStore

	name func(s *controlStore, name string) (string, int64)
}

func (n namer) NameIDs(_ context.Context, name string) (noted string, remembered int64, err error) {
	noted, remembered = n.name(n.controlStore, name)
	return noted, remembered, nil
}

func naming(name func(s *controlStore, name string) (string, int64)) func(c *control) {
	return func(c *control) {
		c.store = func(s *controlStore) driver.Store { return namer{s, name} }
	}
}

// brokenGround are the ways of believing what was lost.
func brokenGround() []negative {
	return []negative{
		{"what was lost is remembered", func(c *control) {
			c.moves = map[string]func(context.Context) error{basis.ErrOtherHistory.Name: func(context.Context) error { return nil }}
		}, map[string]string{"I9_MovedHistoryUnderASession": "outcome duplicate"}},
		{"a fact is not declared to the suite", func(c *control) {
			c.moves = map[string]func(context.Context) error{}
		}, map[string]string{"I9_MovedHistoryUnderASession": "does not say what changes History"}},
		{"where ids come from is not noted", naming(func(_ *controlStore, _ string) (string, int64) { return "", 0 }), map[string]string{
			"I1_MovedIDsBetweenSessions": "outcome committed",
			"I1_IDsOfAnEmptyMemory":      "outcome committed",
		}},
		{"nothing counts as remembered", naming(func(s *controlStore, name string) (string, int64) {
			noted, _, _ := s.NameIDs(context.Background(), name)
			return noted, 0
		}), map[string]string{"I1_MovedIDsBetweenSessions": "outcome committed"}},
		{"where ids come from is noted for good", naming(func(s *controlStore, name string) (string, int64) {
			noted, _, _ := s.NameIDs(context.Background(), name)
			return noted, 1
		}), map[string]string{"I1_IDsOfAnEmptyMemory": "come from another source"}},
	}
}
