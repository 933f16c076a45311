package middleware_test

import (
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/dedupe"
	"github.com/leat-go/leat/dedupe/memdedupe"
	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/middleware"
)

func messages(ids ...string) []*message.Message {
	all := make([]*message.Message, len(ids))
	for i, id := range ids {
		all[i] = message.NewMessage(id, nil)
	}
	return all
}

func decorate(t *testing.T, pub message.Publisher) message.Publisher {
	t.Helper()
	decorated, err := must(middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: newDeduper(t)}))(pub)
	require.NoError(t, err)
	return decorated
}

// TestD3_PublishedOnceToEachTopic: repeats are suppressed, the rest keeps its
// order, and other topics are other publishes.
func TestD3_PublishedOnceToEachTopic(t *testing.T) {
	t.Parallel()
	pub := &shelf{}
	p := decorate(t, pub)
	require.NoError(t, p.Publish("a", messages("1", "2", "1")...))
	require.NoError(t, p.Publish("a", messages("2", "3", "1", "4")...))
	require.NoError(t, p.Publish("a", messages("2")...))
	require.NoError(t, p.Publish("a"))
	require.NoError(t, p.Publish("b", messages("1")...))
	require.Equal(t, []string{"1", "2", "3", "4", "1"}, pub.ids)
	require.Equal(t, []string{"a", "a", "a", "a", "b"}, pub.topics)
	require.NoError(t, p.Close())
}

// TestD6_WhatWasNotPublishedIsPublishedAgain: a failure releases the whole call.
func TestD6_WhatWasNotPublishedIsPublishedAgain(t *testing.T) {
	t.Parallel()
	pub := &shelf{err: errPublisher}
	p := decorate(t, pub)
	require.ErrorIs(t, p.Publish("a", messages("1", "2")...), errPublisher)
	pub.err = nil
	require.NoError(t, p.Publish("a", messages("2", "1")...))
	require.Equal(t, []string{"2", "1"}, pub.ids)
}

// again publishes the same message while it is being published.
type again struct {
	shelf

	p   message.Publisher
	err error
}

func (a *again) Publish(topic string, msgs ...*message.Message) error {
	a.err = a.p.Publish(topic, msgs...)
	return a.shelf.Publish(topic, msgs...)
}

func TestDedupePublisher_RefusesMessages(t *testing.T) {
	t.Parallel()
	pub := &again{}
	pub.p = decorate(t, pub)
	require.NoError(t, pub.p.Publish("a", messages("1")...))
	require.ErrorIs(t, pub.err, dedupe.ErrBusy)
	require.Equal(t, []string{"1"}, pub.ids)

	require.ErrorIs(t, pub.p.Publish("a", messages("2", "")...), dedupe.ErrNoID)
	require.Equal(t, []string{"1"}, pub.ids)
	broken, err := must(middleware.NewDedupePublisher(middleware.DedupePublisherConfig{
		Processor: newDeduper(t), IDFrom: inbox.IDSource{Name: "broken", Find: func(*message.Message) (string, error) { return "", errHandler }},
	}))(pub)
	require.NoError(t, err)
	require.ErrorIs(t, broken.Publish("a", messages("1")...), errHandler)
}

// printer is a publisher that prints.
type printer struct{}

func (printer) Publish(topic string, msgs ...*message.Message) error {
	for _, m := range msgs {
		fmt.Println(topic, string(m.Payload))
	}
	return nil
}

func (printer) Close() error { return nil }

// A handler that runs again makes the same messages, with the same ids: they are
// published once.
func ExampleNewDedupePublisher() {
	store, err := memdedupe.New(memdedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	processor, err := dedupe.New(store, "shop", dedupe.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	once, err := middleware.NewDedupePublisher(middleware.DedupePublisherConfig{Processor: processor})
	if err != nil {
		fmt.Println(err)
		return
	}
	pub, err := once(printer{}) // router.AddPublisherDecorators does this
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		id := inbox.ChildID("order-1", "shop", "confirmation")
		if err := pub.Publish("mails", message.NewMessage(id, []byte("thank you"))); err != nil {
			fmt.Println(err)
		}
	}
	// Output: mails thank you
}
