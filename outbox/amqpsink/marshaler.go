package amqpsink

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/leat-go/leat/outbox"
)

// Marshaler is a Marshaler of watermill-amqp that reads messages with headers of any type.
// watermill-amqp's own refuses all types except strings, and so every message that RabbitMQ has
// dead-lettered: the subscriber cannot read it, and receives it again and again. The zero value
// is ready for use, by any number of goroutines.
type Marshaler struct{}

// Marshal returns msg as a persistent message with its metadata as headers.
func (Marshaler) Marshal(msg *message.Message) (amqp.Publishing, error) {
	headers := make(amqp.Table, len(msg.Metadata)+1)
	for name, value := range msg.Metadata {
		headers[name] = value
	}
	headers[outbox.HeaderWatermillUUID] = msg.UUID
	return amqp.Publishing{
		Headers: headers, Body: msg.Payload, DeliveryMode: amqp.Persistent, MessageId: short(msg.UUID),
		ContentType: short(msg.Metadata.Get(headerContentType)),
	}, nil
}

// Unmarshal returns d as a message. Its UUID is that of a Watermill publisher or of leat, or else
// the message id. Text headers become metadata as they are, numbers and booleans in their usual
// form, times as RFC 3339, and tables and lists as JSON. It never returns an error.
func (Marshaler) Unmarshal(d amqp.Delivery) (*message.Message, error) {
	id := d.MessageId
	for _, name := range [...]string{outbox.HeaderWatermillUUID, outbox.HeaderEventID} {
		if text, ok := d.Headers[name].(string); ok && text != "" {
			id = text
			break
		}
	}
	msg := message.NewMessage(id, d.Body)
	for name, value := range d.Headers {
		if name != outbox.HeaderWatermillUUID {
			msg.Metadata[name] = headerText(value)
		}
	}
	return msg, nil
}

// headerText returns the value of a header as text.
func headerText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case amqp.Table, []any:
		if text, err := json.Marshal(v); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(value) // numbers and booleans; NaN in a table
}
