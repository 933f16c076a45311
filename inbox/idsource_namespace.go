package inbox

import (
	"errors"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

var errNoNamespace = errors.New("leat: message has no namespace for its id")

// IDWithin returns an IDSource that combines the id of source with a namespace, such as a tenant:
// the same id in two namespaces is two ids. The name of the new source contains called, which
// names the kind of namespace. Use IDWithin if producers choose ids and do not trust or do not
// know each other. Without it, a producer that is first to use another's id makes the other's
// message a duplicate, which is acknowledged without an effect. Namespace must return something
// that a producer cannot choose at will; an empty result is an error. IDWithin finds no id if
// source finds none.
//
// The id is text and not a UUID, so retention does not know its time. A consumer that switches to
// it does not recognise messages that it processed before.
func IDWithin(called string, namespace func(msg *message.Message) (string, error), source IDSource) IDSource {
	return IDSource{Name: called + " of " + source.Name, Find: func(msg *message.Message) (string, error) {
		id, err := source.Find(msg)
		if err != nil || id == "" {
			return "", err
		}
		name, err := namespace(msg)
		switch {
		case err != nil:
			return "", err
		case name == "":
			return "", errNoNamespace
		}
		return strconv.QuoteToASCII(name) + " " + id, nil // a quoted text cannot run into what follows it
	}}
}

// IDWithTopic returns an IDSource that takes the id of source within the topic that the message
// came from; see IDWithin. The topic is the one that Watermill's router has set, or else the one
// of the message's Position.
func IDWithTopic(source IDSource) IDSource {
	return IDWithin("topic", func(msg *message.Message) (string, error) {
		if topic := message.SubscribeTopicFromCtx(msg.Context()); topic != "" {
			return topic, nil
		}
		at, _ := driver.PositionFrom(msg.Context())
		return at.Topic, nil
	}, source)
}
