package wmforward

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
)

// HeaderMalformed is the header of a record that stands for a row that could not
// be decoded: why not. Such a record has no topic.
const HeaderMalformed = "leat_malformed"

var errNoTopic = errors.New("leat: the envelope has no destination topic")

// envelope is what components/forwarder's publisher stores.
type envelope struct {
	DestinationTopic string            `json:"destination_topic"`
	UUID             string            `json:"uuid"`
	Payload          []byte            `json:"payload"`
	Metadata         map[string]string `json:"metadata"`
}

// row is a row of the forwarder's table.
type row struct {
	number    int64
	uuid      string
	createdAt time.Time
	payload   []byte
}

// decode returns the record that r stands for. Where r is not an envelope, the
// record is one that no sink delivers, and the error says why.
func decode(r row, key outbox.KeyFunc) (outbox.Record, error) {
	record := outbox.Record{Seq: r.number, CreatedAt: r.createdAt}
	msg, err := unwrap(r, key)
	if err != nil {
		msg = outbox.Message{ID: r.uuid, Payload: r.payload, Headers: map[string]string{HeaderMalformed: storable.Text(err.Error())}}
	}
	if msg.Key != "" {
		record.Shard = keyhash.Shard([]byte(msg.Key))
	} else {
		record.Shard = keyhash.Shard([]byte(msg.ID))
	}
	record.Message = msg
	return record, err
}

// unwrap returns the message that r holds, if it could also be set aside.
func unwrap(r row, key outbox.KeyFunc) (outbox.Message, error) {
	var e envelope
	if err := json.Unmarshal(r.payload, &e); err != nil {
		return outbox.Message{}, fmt.Errorf("leat: the row is no envelope: %w", err)
	}
	if e.DestinationTopic == "" {
		return outbox.Message{}, errNoTopic
	}
	if _, ok := e.Metadata[outbox.HeaderWatermillUUID]; ok {
		// Watermill's marshaler refuses it: the message would have two ids.
		return outbox.Message{}, fmt.Errorf("leat: metadata %s is reserved for the message's UUID", outbox.HeaderWatermillUUID)
	}
	msg := outbox.Message{ID: e.UUID, Topic: e.DestinationTopic, Payload: e.Payload, Headers: e.Metadata}
	if msg.ID == "" {
		msg.ID = r.uuid // without an id nobody could recognise a repeat
	}
	var err error
	if msg.Key, err = e.key(key); err != nil {
		return outbox.Message{}, fmt.Errorf("leat: key of message %.200q: %w", e.UUID, err)
	}
	return msg, outOfBounds(&msg)
}

// key returns the key of the message in e.
func (e *envelope) key(key outbox.KeyFunc) (string, error) {
	if key == nil {
		return e.Metadata[outbox.HeaderKey], nil
	}
	wm := message.NewMessage(e.UUID, e.Payload)
	if e.Metadata != nil {
		wm.Metadata = e.Metadata
	}
	return key(e.DestinationTopic, wm)
}
