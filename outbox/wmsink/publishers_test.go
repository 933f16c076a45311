package wmsink_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	nethttp "net/http"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/wmsink"
	"github.com/leat-go/leat/outbox/wmsink/internal/watermill-amqp/amqp"
	"github.com/leat-go/leat/outbox/wmsink/internal/watermill-http/http"
	"github.com/leat-go/leat/outbox/wmsink/internal/watermill-nats/nats"
)

// TestO2_PublishersThatLoseAreRefused: as they are configured, these publishers return nil for messages
// that no broker has. A2.
func TestO2_PublishersThatLoseAreRefused(t *testing.T) {
	t.Parallel()
	stays := &nethttp.Client{CheckRedirect: func(*nethttp.Request, []*nethttp.Request) error { return errors.New("no redirects") }}
	for _, test := range []struct {
		pub  message.Publisher
		says string
	}{
		{amqp.NewPublisher(amqp.Config{}), "ConfirmDelivery = false"},
		{amqp.NewPublisher(amqp.Config{Publish: amqp.PublishConfig{Transactional: true, ConfirmDelivery: true}}), "Transactional = true"},
		{amqp.NewPublisher(amqp.Config{Publish: amqp.PublishConfig{ConfirmDelivery: true}}), ""},
		{nats.NewPublisher(nats.Config{JetStream: nats.JetStreamConfig{Disabled: true}}), "JetStream.Disabled = true"},
		{nats.NewPublisher(nats.Config{JetStream: nats.JetStreamConfig{TrackMsgId: true}}), "TrackMsgId = true"},
		{nats.NewPublisher(nats.Config{JetStream: nats.JetStreamConfig{PublishOptions: make([]func(), 1, 2)}}), ""},
		{nats.NewPublisher(nats.Config{}), ""},
		{http.NewPublisher(http.Config{Client: nethttp.DefaultClient}), "CheckRedirect = nil"},
		{http.NewPublisher(http.Config{Client: stays}), ""},
		{http.NewPublisher(http.Config{}), ""},
	} {
		_, err := wmsink.New(test.pub, wmsink.Config{})
		if test.says == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, outbox.ErrInvalidConfig)
		require.ErrorContains(t, err, test.says)
	}
}

// TestO8_TextsOfPublishers: a broker that is unavailable is an outage, although its publisher says
// so in a text only. The texts are those of the versions in docs/watermill-publishers.md. A2.
func TestO8_TextsOfPublishers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]outbox.FailureKind{
		"not connected to AMQP":            outbox.FailureOutage,
		"pub/sub is connection closedChan": outbox.FailureOutage,
		`cannot open channel: Exception (504) Reason: "channel/connection is not open"`:  outbox.FailureOutage,
		"delivery not confirmed for message [1]":                                         outbox.FailureOutage,
		"cannot publish: nats: timeout":                                                  outbox.FailureOutage,
		"sending message failed: nats: no response from stream":                          outbox.FailureOutage,
		"nats: no responders available for request":                                      outbox.FailureOutage,
		"sending message failed: nats: maximum payload exceeded":                         outbox.FailurePermanent,
		"cannot xadd message 1: OOM command not allowed when used memory > 'maxmemory'.": outbox.FailureOutage,
		"cannot xadd message 1: READONLY You can't write against a read only replica.":   outbox.FailureOutage,
		"cannot xadd message 1: redis: client is closed":                                 outbox.FailureOutage,
		"cannot xadd message 1: WRONGTYPE Operation against a key":                       outbox.FailureUnknown,
		"503 Service Unavailable: server responded with error status":                    outbox.FailureOutage,
		"429 Too Many Requests: server responded with error status":                      outbox.FailureOutage,
		"401 Unauthorized: server responded with error status":                           outbox.FailureOutage,
		"413 Request Entity Too Large: server responded with error status":               outbox.FailurePermanent,
		"409 Conflict: server responded with error status":                               outbox.FailureUnknown,
		"server responded with error status":                                             outbox.FailureUnknown,
		"publisher is closed":                                                            outbox.FailureOutage,
		"cannot marshal message: metadata is not a string":                               outbox.FailureUnknown,
	} {
		require.Equal(t, want, wmsink.DefaultClassify(errors.New(text)), text)
	}
}

// sqlError is the error of a driver that says a SQLSTATE.
type sqlError string

func (e sqlError) Error() string    { return "cannot insert" }
func (e sqlError) SQLState() string { return string(e) }

func TestO8_ErrorsOfSQL(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]outbox.FailureKind{
		"08006": outbox.FailureOutage, "57P01": outbox.FailureOutage, "53300": outbox.FailureOutage, "25006": outbox.FailureOutage,
		"42P01": outbox.FailureOutage, "28P01": outbox.FailureOutage, "22021": outbox.FailureUnknown, "23505": outbox.FailureUnknown,
		"": outbox.FailureUnknown,
	} {
		require.Equal(t, want, wmsink.DefaultClassify(fmt.Errorf("could not insert message as row: %w", sqlError(state))), state)
	}
	require.Equal(t, outbox.FailureOutage, wmsink.DefaultClassify(fmt.Errorf("could not insert: %w", driver.ErrBadConn)))
}
