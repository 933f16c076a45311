package kafkasink

import (
	"cmp"
	"fmt"
	"time"

	"github.com/leat-go/leat/outbox"
)

// Bounds on TransactionalConfig.TransactionTimeout.
const (
	minTransactionTimeout = 10 * time.Second
	maxTransactionTimeout = 40 * time.Second
)

// TransactionalConfig tunes a Transactional.
type TransactionalConfig struct {
	// Config is the configuration of the Sink. A transactional id among its Options is refused.
	Config

	// TransactionalIDPrefix starts the transactional ids of the clients; the name of the slot
	// follows. All replicas of a relay must have the same prefix, and no other program may use
	// it: a client with the same id is fenced. If the cluster has ACLs, they must allow Write and
	// Describe on it. Required.
	TransactionalIDPrefix string

	// PositionTopic holds the positions, one partition per slot, and nothing else may write to
	// it. Each relay group needs its own. Its cleanup.policy must be "compact", since deletion by
	// time or size would delete the position of a slot that is idle. Required.
	PositionTopic string

	// CreatePositionTopic creates PositionTopic, and a partition for each new slot. Otherwise
	// both must exist. Defaults to false.
	CreatePositionTopic bool

	// PositionReplicas is the replication factor of a topic that is created; choose it by how
	// safe the positions must be. Defaults to the cluster's own default.
	PositionReplicas int16

	// TransactionTimeout is how long the cluster keeps the transaction of a dead relay open, and
	// so how long that can hold up readers of committed records while no other relay takes over;
	// 10 s to 40 s. It must exceed the relay's PublishTimeout. Defaults to 15 s.
	TransactionTimeout time.Duration
}

func (c TransactionalConfig) withDefaults() TransactionalConfig {
	c.Config = c.Config.withDefaults()
	c.PositionReplicas = cmp.Or(c.PositionReplicas, -1)
	c.TransactionTimeout = cmp.Or(c.TransactionTimeout, 15*time.Second)
	return c
}

func (c TransactionalConfig) validate() error {
	if c.TransactionalIDPrefix == "" {
		return outbox.ConfigError("TransactionalIDPrefix", `""`, "must not be empty")
	}
	if !legal(c.PositionTopic) {
		return outbox.ConfigError("PositionTopic", fmt.Sprintf("%q", c.PositionTopic), "must be the name of a kafka topic")
	}
	if c.PositionReplicas < -1 {
		return outbox.ConfigError("PositionReplicas", c.PositionReplicas, "must be positive")
	}
	if c.TransactionTimeout < minTransactionTimeout || c.TransactionTimeout > maxTransactionTimeout {
		return outbox.ConfigError("TransactionTimeout", c.TransactionTimeout, fmt.Sprintf(
			"must be %s to %s", minTransactionTimeout, maxTransactionTimeout))
	}
	return c.Config.validate()
}
