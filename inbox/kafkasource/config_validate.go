package kafkasource

import (
	"fmt"
	"strconv"
	"time"

	"github.com/leat-go/leat/inbox/driver"
	"github.com/leat-go/leat/internal/hooks"
	"github.com/leat-go/leat/internal/hostport"
	"github.com/leat-go/leat/outbox"
)

// minSessionTimeout keeps the parts of a session timeout distinct.
const minSessionTimeout = time.Second

func (c Config) validate() error {
	if c.NewTopic.Partitions < 0 {
		return outbox.ConfigError("NewTopic.Partitions", c.NewTopic.Partitions, "must not be negative")
	}
	if c.NewTopic.ReplicationFactor < 0 {
		return outbox.ConfigError("NewTopic.ReplicationFactor", c.NewTopic.ReplicationFactor, "must not be negative")
	}
	for _, f := range []struct {
		name  string
		value int
	}{
		{"Concurrency", c.Concurrency},
		{"MaxInFlight", c.MaxInFlight},
		{"MaxBuffered", c.MaxBuffered},
		{"MaxBufferedBytes", c.MaxBufferedBytes},
		{"MaxAhead", c.MaxAhead},
		{"BatchSize", c.BatchSize},
	} {
		if f.value < 1 {
			return outbox.ConfigError(f.name, f.value, "must be positive")
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"RedeliverDelay", c.RedeliverDelay},
		{"CommitInterval", c.CommitInterval},
		{"DrainTimeout", c.DrainTimeout},
	} {
		if f.value < 0 {
			return outbox.ConfigError(f.name, f.value, "must be positive")
		}
	}
	switch {
	case c.Marks != nil && c.NoGroup:
		return outbox.ConfigError("Marks", "set", "must not be set with NoGroup, which commits no offsets")
	case c.Marks != nil && c.Seek != nil:
		return outbox.ConfigError("Marks", "set", "must not be set with Seek, which decides where to begin")
	case c.MarksReportOnly && c.Marks == nil:
		return outbox.ConfigError("MarksReportOnly", true, "must not be set without Marks")
	}
	if c.BatchSize > c.MaxBuffered {
		return outbox.ConfigError("BatchSize", c.BatchSize, fmt.Sprintf("must be at most MaxBuffered = %d", c.MaxBuffered))
	}
	return c.validateTimes()
}

func (c Config) validateTimes() error {
	if c.MaxRedeliverDelay < c.RedeliverDelay {
		return outbox.ConfigError("MaxRedeliverDelay", c.MaxRedeliverDelay,
			fmt.Sprintf("must be at least RedeliverDelay = %s", c.RedeliverDelay))
	}
	if c.SessionTimeout < minSessionTimeout {
		return outbox.ConfigError("SessionTimeout", c.SessionTimeout, fmt.Sprintf("must be at least %s", minSessionTimeout))
	}
	if c.DrainTimeout > c.SessionTimeout/3 {
		return outbox.ConfigError("DrainTimeout", c.DrainTimeout,
			fmt.Sprintf("must be at most a third of SessionTimeout = %s", c.SessionTimeout))
	}
	return hooks.Refuse(c.Hooks, "kafkasource", hooks.Is[driver.SourceHook])
}

// The parts of a session timeout. A silent member gives up before the group reassigns its
// partitions, and a rebalance ends before the member gives up.
func (c Config) heartbeatInterval() time.Duration { return c.SessionTimeout / 15 }
func (c Config) rebalanceTimeout() time.Duration  { return c.SessionTimeout * 2 / 3 }
func (c Config) fenceAfter() time.Duration        { return c.SessionTimeout * 4 / 5 }

func validateNames(brokers []string, group string, noGroup bool) error {
	if len(brokers) == 0 {
		return outbox.ConfigError("brokers", brokers, "must name at least one")
	}
	if address, reason, refused := hostport.Refuse(brokers); refused {
		return outbox.ConfigError("brokers", strconv.Quote(address), reason)
	}
	if group == "" && !noGroup {
		return outbox.ConfigError("group", strconv.Quote(group), "must not be empty; Config.NoGroup reads without one")
	}
	if group != "" && noGroup {
		return outbox.ConfigError("group", strconv.Quote(group), "must be empty with Config.NoGroup")
	}
	return nil
}
