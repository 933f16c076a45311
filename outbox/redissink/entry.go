package redissink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/leat-go/leat/outbox"
)

// The fields of an entry are those of watermill-redisstream.
const (
	fieldMetadata = "metadata"
	fieldPayload  = "payload"
)

// entryOverhead is more than the names of the fields and leat's additions to the metadata take.
const entryOverhead = 512

var errTooLarge = errors.New("leat: record is too large")

// checkSize returns an error if the server would not accept r: it would close the connection.
func checkSize(r *outbox.Record, most int) error {
	size := len(r.Payload) + 2*len(r.ID) + len(r.Key) + len(r.Type) + entryOverhead
	for name, value := range r.Headers {
		size += len(name) + len(value) + 10
	}
	if size > most {
		return fmt.Errorf("%w: the entry of %.100q has about %d bytes, the most is %d", errTooLarge, r.ID, size, most)
	}
	return nil
}

// entry returns the command that adds r.
func entry(head []any, r *outbox.Record) []any {
	return append(slices.Clip(head),
		outbox.HeaderWatermillUUID, r.ID,
		fieldMetadata, metadata(r),
		fieldPayload, r.Payload,
	)
}

// metadata returns the headers of r and its description as a map in MessagePack.
func metadata(r *outbox.Record) []byte {
	all := make(map[string]string, len(r.Headers)+4)
	maps.Copy(all, r.Headers)
	all[outbox.HeaderEventID] = r.ID
	all[outbox.HeaderEventTime] = outbox.FormatEventTime(r.EventTime())
	if r.Type != "" {
		all[outbox.HeaderEventType] = r.Type
	}
	if r.Key != "" {
		all[outbox.HeaderKey] = r.Key
	}
	out := mapHead(nil, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = text(text(out, name), all[name])
	}
	return out
}

// mapHead appends the head of a map of MessagePack with n pairs.
func mapHead(out []byte, n int) []byte {
	const fix, short, long = 0x80, 0xde, 0xdf
	switch {
	case n < 16:
		return append(out, fix|byte(n)) //nolint:gosec // less than 16
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(out, short), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(out, long), uint32(n)) //nolint:gosec // MaxMessageBytes is less
	}
}

// text appends a string of MessagePack.
func text(out []byte, s string) []byte {
	const fix, tiny, short, long = 0xa0, 0xd9, 0xda, 0xdb
	switch n := len(s); {
	case n < 32:
		out = append(out, fix|byte(n))
	case n <= math.MaxUint8:
		out = append(out, tiny, byte(n))
	case n <= math.MaxUint16:
		out = binary.BigEndian.AppendUint16(append(out, short), uint16(n))
	default:
		out = binary.BigEndian.AppendUint32(append(out, long), uint32(n)) //nolint:gosec // MaxMessageBytes is less
	}
	return append(out, s...)
}
