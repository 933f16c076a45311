package inbox

import (
	"errors"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

var errNoNamespace = errors.New("leat: message has no namespace for its id")

// IDWithin returns an IDSource that combines the id of source with a namespace, such as a
// tenant, which called says in its name: the same id in two namespaces is two ids. Take it if producers choose ids and
// do not trust each other, or do not know of each other. Without it, a producer that uses
// another's id first makes the other's message a duplicate, which is acknowledged without
// an effect. Namespace must use what a producer cannot choose at will. An empty result is
// an error. It finds no id if source finds none.
//
// The id is text and no UUID, so retention does not know its time. A consumer that
// changes to it does not recognise what it processed before.
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

// IDWithTopic returns an IDSource that takes the id of source within the topic that
// the message came from; see IDWithin. The topic is what Watermill's router knows, or
// else the one of the message's Position.
func IDWithTopic(source IDSource) IDSource {
	return IDWithin("topic", func(msg *message.Message) (string, error) {
		if topic := message.SubscribeTopicFromCtx(msg.Context()); topic != "" {
			return topic, nil
		}
		at, _ := driver.PositionFrom(msg.Context())
		return at.Topic, nil
	}, source)
}
