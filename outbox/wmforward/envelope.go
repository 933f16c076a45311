package wmforward

import (
	"time"

	"github.com/leat-go/leat/internal/keyhash"
	"github.com/leat-go/leat/internal/storable"
	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/internal/wmenvelope"
)

// headerMalformed is the header with the reason in a record that stands for a row that could not
// be decoded. Such a record has no topic.
const headerMalformed = "leat_malformed"

// row is a row of the forwarder's table.
type row struct {
	number    int64
	uuid      string
	createdAt time.Time
	payload   []byte
}

// decode returns the record that r stands for. If r is not an envelope, no sink delivers the
// record, and the error has the reason.
func decode(r row, key outbox.KeyFunc) (outbox.Record, error) {
	record := outbox.Record{Seq: r.number, CreatedAt: r.createdAt}
	msg, err := wmenvelope.Unwrap(r.payload, r.uuid, key)
	if err != nil {
		msg = outbox.Message{ID: r.uuid, Payload: r.payload, Headers: map[string]string{headerMalformed: storable.Text(err.Error())}}
	}
	if msg.Key != "" {
		record.Shard = keyhash.Shard([]byte(msg.Key))
	} else {
		record.Shard = keyhash.Shard([]byte(msg.ID))
	}
	record.Message = msg
	return record, err
}
