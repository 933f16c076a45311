package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"syscall"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
)

const topic = "orders"

// broker is Watermill's Pub/Sub in memory, which behaves like a real broker: at times it is
// unavailable, and at times it delivers twice.
type broker struct {
	*gochannel.GoChannel
	refused, acked chan struct{}

	mu   sync.Mutex
	away bool
	told bool
	log  map[string]*message.Message
}

func newBroker() *broker {
	return &broker{
		GoChannel: gochannel.NewGoChannel(
			gochannel.Config{BlockPublishUntilSubscriberAck: true}, watermill.NopLogger{}),
		refused: make(chan struct{}, 1),
		acked:   make(chan struct{}, 3),
		log:     map[string]*message.Message{},
	}
}

// Publish implements message.Publisher.
func (b *broker) Publish(topic string, messages ...*message.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, msg := range messages {
		order := orderOf(msg)
		if b.away {
			if !b.told { // the relay tries again and again
				b.told = true
				fmt.Printf("  broker   refuses %s: %v\n", order, syscall.ECONNREFUSED)
				b.refused <- struct{}{}
			}
			return syscall.ECONNREFUSED
		}
		fmt.Printf("  broker   takes and delivers %s\n", order)
		if err := b.GoChannel.Publish(topic, msg); err != nil {
			return err
		}
		b.log[order] = msg
		b.acked <- struct{}{}
	}
	return nil
}

// repeat delivers acknowledged messages once more.
func (b *broker) repeat(order string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	msg, ok := b.log[order]
	if !ok {
		return errors.New("nothing to repeat: " + order + " was never published")
	}
	fmt.Printf("  broker   delivers %s again\n", order)
	return b.GoChannel.Publish(topic, msg.Copy())
}

func (b *broker) breakDown() { b.set(true) }

func (b *broker) repair() { b.set(false) }

func (b *broker) set(away bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.away = away
}

func orderOf(msg *message.Message) string {
	var event placed
	if err := json.Unmarshal(msg.Payload, &event); err != nil {
		return msg.UUID
	}
	return event.Order
}
