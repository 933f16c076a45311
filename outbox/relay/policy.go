package relay

import (
	"cmp"
	"fmt"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox"
)

// Action is what happens to a record that cannot be delivered: at once if the
// sink says so (outbox.FailurePermanent), else after Policy.Attempts failures.
type Action int

const (
	// Park keeps the record, and all behind it of its key, until an operator redrives
	// it. Nothing is lost and nothing of the key is sent out of order.
	Park Action = iota
	// Block tries the record again for as long as it takes; its key waits.
	Block
	// DeadLetter sets the record aside for good; its key goes on without it.
	DeadLetter
	// Skip drops the record, with a note in the audit; its key goes on without it.
	Skip
)

// String returns the action's name.
func (a Action) String() string {
	switch a {
	case Park:
		return "park"
	case Block:
		return "block"
	case DeadLetter:
		return "dead_letter"
	case Skip:
		return "skip"
	default:
		return fmt.Sprintf("Action(%d)", int(a))
	}
}

// Policy decides about records of some topics that cannot be delivered.
type Policy struct {
	// Topics is the pattern of the topics of this policy; * stands for any run of
	// characters. Defaults to all topics.
	Topics string

	// Action is what happens to a record that cannot be delivered. Defaults to Park.
	Action Action

	// Attempts is the number of failed deliveries after which Action is taken, 1 to
	// 1,000,000. Block counts attempts, but never ends them. Defaults to 10.
	Attempts int
}

func (p Policy) withDefaults() Policy {
	p.Topics = cmp.Or(p.Topics, "*")
	p.Attempts = cmp.Or(p.Attempts, 10)
	return p
}

func (c Config) validatePolicies() error {
	for i, p := range c.Policies {
		field := fmt.Sprintf("Policies[%d]", i)
		switch {
		case p.Action < Park || p.Action > Skip:
			return outbox.ConfigError(field+".Action", p.Action, "is not an action")
		case p.Attempts < 1 || p.Attempts > 1_000_000:
			return outbox.ConfigError(field+".Attempts", p.Attempts, "must be 1 to 1000000")
		}
	}
	return nil
}

// policy returns the first policy that matches topic, or the default.
func (c Config) policy(topic string) Policy {
	for _, p := range c.Policies {
		if topics.Match(p.Topics, topic) {
			return p
		}
	}
	return Policy{}.withDefaults()
}
