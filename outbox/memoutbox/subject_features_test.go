package memoutbox_test

import (
	"context"
	"time"

	"github.com/leat-go/leat/outbox/driver"
	"github.com/leat-go/leat/outbox/memoutbox"
	"github.com/leat-go/leat/outbox/outboxtest"
)

var (
	_ outboxtest.Grouper  = subject{}
	_ outboxtest.Delayer  = subject{}
	_ outboxtest.Replayer = subject{}
	_ outboxtest.Neighbor = subject{}
)

// Group implements outboxtest.Grouper.
func (s subject) Group(cfg outboxtest.GroupConfig) (driver.Source, error) {
	src := memoutbox.SourceConfig{Group: cfg.Name, Slots: cfg.Slots, Topics: cfg.Topics}
	src.Start = cfg.Start
	return s.Outbox.Source(src), nil
}

// Now implements outboxtest.Delayer.
func (s subject) Now(context.Context) (time.Time, error) { return time.Now(), nil }

// Promote implements outboxtest.Delayer: whoever looks promotes.
func (s subject) Promote(context.Context) error {
	s.Committed()
	return nil
}

// History implements outboxtest.Replayer.
func (s subject) History(sel outboxtest.Selection) (driver.History, error) {
	return s.Outbox.History(memoutbox.HistoryConfig(sel)), nil
}

// Another implements outboxtest.Neighbor.
func (s subject) Another(context.Context) (outboxtest.Subject, error) {
	ob, err := memoutbox.New(memoutbox.Config{})
	return subject{ob, ob.Admin()}, err
}
