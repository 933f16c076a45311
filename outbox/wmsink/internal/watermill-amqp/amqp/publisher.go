// Package amqp stands in for watermill-amqp's in tests: a type of that name, in a package
// of such a path, with the fields that the sink looks at.
package amqp

import "github.com/ThreeDotsLabs/watermill/message"

// Config is the part of the publisher's configuration that matters.
type Config struct {
	Publish PublishConfig
}

// PublishConfig is the part of the publisher's PublishConfig that matters.
type PublishConfig struct {
	Transactional, ConfirmDelivery bool
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
