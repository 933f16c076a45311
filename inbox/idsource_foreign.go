package inbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox/driver"
)

// IDFromCloudEvent returns an IDSource for CloudEvents: the source and the id together,
// since an id is unique for its source only. It takes them from the headers of binary mode
// (of Kafka, NATS or AMQP), and without these from the JSON document of structured mode. It
// finds none if there is no id.
func IDFromCloudEvent() IDSource {
	return IDSource{Name: "cloudevent", Find: func(msg *message.Message) (string, error) {
		for _, prefix := range [...]string{"ce_", "ce-", "cloudEvents_", "cloudEvents:"} {
			if id := msg.Metadata.Get(prefix + "id"); id != "" {
				return withSource(msg.Metadata.Get(prefix+"source"), id), nil
			}
		}
		if !bytes.Contains(msg.Payload, []byte(`"specversion"`)) {
			return "", nil
		}
		var event map[string]json.RawMessage // a struct would also accept ID and Source
		_ = json.Unmarshal(msg.Payload, &event)
		id, source := textOf(event["id"]), textOf(event["source"])
		if event["specversion"] == nil || id == "" {
			return "", nil
		}
		return withSource(source, id), nil
	}}
}

// textOf returns the value of a JSON string, and "" for any other value.
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

func withSource(source, id string) string {
	if source == "" {
		return id
	}
	return source + " " + id
}

// IDFromPosition returns an IDSource that takes the Position that the message's context carries:
// source, partition and offset. It recognises redeliveries of a record in the log, but not a
// message that a producer has sent twice. It finds none if the subscriber sets no Position.
func IDFromPosition() IDSource {
	return IDSource{Name: "position", Find: func(msg *message.Message) (string, error) {
		at, ok := driver.PositionFrom(msg.Context())
		if !ok {
			return "", nil
		}
		return fmt.Sprintf("%s/%d/%d", at.Source, at.Partition, at.Offset), nil
	}}
}

// IDFromPayload returns an IDSource that takes the SHA-256 of the payload, in hexadecimal. Use it
// only if no two messages can have the same payload, for example if each has its own number: a
// second message with the same payload counts as a redelivery, and its effect is lost.
func IDFromPayload() IDSource {
	return IDSource{Name: "payload", Find: func(msg *message.Message) (string, error) {
		sum := sha256.Sum256(msg.Payload)
		return hex.EncodeToString(sum[:]), nil
	}}
}
