package kafkasource

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// needs adds to err what to do, if it means that this client lacks a right, or that other members
// use another way to assign partitions.
func (s *subscription) needs(err error) error {
	if errors.Is(err, kerr.InconsistentGroupProtocol) {
		return fmt.Errorf("group %q has members that are not of this package, such as watermill-kafka's: while both run, set "+
			"Options: []kgo.Opt{kgo.Balancers(kgo.RangeBalancer())}: %w", s.group, err)
	}
	if errors.Is(err, kerr.GroupAuthorizationFailed) {
		return fmt.Errorf("allow this client READ on group %q: %w", s.group, err)
	}
	return needsTopic(err, "READ", s.topic)
}

func needsTopic(err error, right, topic string) error {
	if !errors.Is(err, kerr.TopicAuthorizationFailed) {
		return err
	}
	return fmt.Errorf("allow this client %s on topic %q: %w", right, topic, err)
}
