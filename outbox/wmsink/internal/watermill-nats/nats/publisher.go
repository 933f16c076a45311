// Package nats stands in for watermill-nats's in tests: a type of that name, in a package
// of such a path, with the fields that the sink looks at.
package nats

import "github.com/ThreeDotsLabs/watermill/message"

// Config is the part of the publisher's configuration that matters.
type Config struct {
	JetStream JetStreamConfig
}

// JetStreamConfig is the part of the publisher's JetStreamConfig that matters.
type JetStreamConfig struct {
	Disabled, TrackMsgId bool //nolint:revive // as it is called there
	PublishOptions       []func()
}

// Publisher accepts every message, and drops it.
type Publisher struct {
	config Config
}

// NewPublisher returns a Publisher.
func NewPublisher(config Config) *Publisher { return &Publisher{config} }

// Publish implements message.Publisher.
func (p *Publisher) Publish(string, ...*message.Message) error { return nil }

// Close implements message.Publisher.
func (p *Publisher) Close() error { return nil }
