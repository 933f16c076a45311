package registry

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/leat-go/leat/inbox"
)

// magic begins every payload, followed by the four bytes of the schema's id.
const magic = 0

// maxIndex bounds how deep a message of Protobuf may be nested in others.
const maxIndex = 64

var (
	errFrame = errors.New("leat: registry: the payload does not begin with a zero byte and the id of a schema")
	errIndex = errors.New("leat: registry: the payload has no valid index of a Protobuf message")
)

// appendFrame appends the bytes that precede a payload.
func appendFrame(b []byte, id int) []byte {
	return binary.BigEndian.AppendUint32(append(b, magic), uint32(id)) //nolint:gosec // ids are positive
}

// cutFrame returns the id of the schema, and the payload that follows it.
func cutFrame(b []byte) (id int, payload []byte, err error) {
	if len(b) < 5 || b[0] != magic {
		return 0, nil, inbox.Permanent(errFrame)
	}
	n := binary.BigEndian.Uint32(b[1:])
	if n == 0 || n > math.MaxInt32 {
		return 0, nil, inbox.Permanent(errFrame)
	}
	return int(n), b[5:], nil
}

// appendIndex appends the path of a message in its file: the count and each element as zigzag
// varints. The path [0] is a single zero.
func appendIndex(b []byte, index []int) []byte {
	if slices.Equal(index, []int{0}) {
		return append(b, 0)
	}
	b = binary.AppendVarint(b, int64(len(index)))
	for _, i := range index {
		b = binary.AppendVarint(b, int64(i))
	}
	return b
}

// cutIndex returns the path of a message in its file, and the remaining bytes.
func cutIndex(b []byte) (index []int, rest []byte, err error) {
	next := func() int64 {
		v, n := binary.Varint(b)
		if n <= 0 || v < 0 || v > math.MaxInt32 {
			return -1
		}
		b = b[n:]
		return v
	}
	count := next()
	if count < 0 || count > maxIndex {
		return nil, nil, inbox.Permanent(errIndex)
	}
	if count == 0 {
		return []int{0}, b, nil
	}
	index = make([]int, count)
	for i := range index {
		v := next()
		if v < 0 {
			return nil, nil, inbox.Permanent(errIndex)
		}
		index[i] = int(v)
	}
	return index, b, nil
}
