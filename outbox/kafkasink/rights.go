package kafkasink

import (
	"errors"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// needs adds the right to grant to err if it means that this client lacks one.
func needs(err error, right, topic string) error {
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		return err
	}
	return fmt.Errorf("allow this client %s on topic %q: %w", right, topic, err)
}

// needsID is needs for the slot's transactional id.
func (l *txLane) needsID(err error) error {
	if !errors.Is(err, kerr.TransactionalIDAuthorizationFailed) {
		return err
	}
	return fmt.Errorf("allow this client WRITE on transactional id %q: %w", l.cfg.TransactionalIDPrefix+l.slot, err)
}

// needsProducerID is needs for a producer without a transactional id. Brokers give it a producer
// id if it may write to any topic; old ones (before 2.8) require more.
func needsProducerID(err error, topic string) error {
	if !errors.Is(err, kerr.ClusterAuthorizationFailed) {
		return err
	}
	return fmt.Errorf("allow this client WRITE on topic %q, and IDEMPOTENT_WRITE on the cluster where brokers are older than 2.8: %w",
		topic, err)
}

// writable reports whether a client with the rights in granted, one bit per operation, may write
// to the topic, as far as the cluster reports it. Any client that sees a topic may describe it,
// so without that bit the cluster does not report rights.
func writable(granted int32) bool {
	const describe, write = 1 << kmsg.ACLOperationDescribe, 1 << kmsg.ACLOperationWrite
	return granted == math.MinInt32 || granted&describe == 0 || granted&write != 0
}
