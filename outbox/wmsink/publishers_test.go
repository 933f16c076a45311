package wmsink_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
	"github.com/leat-go/leat/outbox/wmsink/internal/watermill-amqp/amqp"
)

// TestO2_PublishersThatLoseAreRefused: RabbitMQ's publisher returns nil for messages that
// the broker does not have, without confirms and with transactions. A2.
func TestO2_PublishersThatLoseAreRefused(t *testing.T) {
	t.Parallel()
	for text, config := range map[string]amqp.PublishConfig{
		"ConfirmDelivery = false": {},
		"Transactional = true":    {Transactional: true, ConfirmDelivery: true},
	} {
		_, err := wmsink.New(amqp.NewPublisher(amqp.Config{Publish: config}), wmsink.Config{})
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, text)
	}
	_, err := wmsink.New(amqp.NewPublisher(amqp.Config{Publish: amqp.PublishConfig{ConfirmDelivery: true}}), wmsink.Config{})
	require.NoError(t, err)
}

// TestO8_TextsOfPublishers: a broker that is away is an outage, although its publisher says
// so in a text only. A2.
func TestO8_TextsOfPublishers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outbox.FailureKind{
		"not connected to AMQP":                         outbox.FailureOutage,
		"delivery not confirmed for message [1]":        outbox.FailureOutage,
		"cannot publish: nats: timeout":                 outbox.FailureOutage,
		"nats: no responders available for request":     outbox.FailureOutage,
		"nats: maximum payload exceeded":                outbox.FailurePermanent,
		"server responded with error status: 503":       outbox.FailureUnknown,
		"cannot marshal message: metadata is no string": outbox.FailureUnknown,
	} {
		require.Equal(t, want, wmsink.DefaultClassify(errors.New(text)), text)
	}
}
