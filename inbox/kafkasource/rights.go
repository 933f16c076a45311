package kafkasource

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
)

// needs tells what to grant if err means that this client lacks a right.
func (s *subscription) needs(err error) error {
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
