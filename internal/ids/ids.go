// Package ids makes and maps message ids.
//
// A message id is text to its users and a UUID to the tables. The mapping is a
// pure function, so that a producer's outbox and a consumer's inbox agree on it
// without talking to each other.
package ids

import (
	"encoding/hex"
	"strconv"

	"github.com/google/uuid"
)

// UUID is the stored form of a message id.
type UUID = [16]byte

// namespace of every id that is not a canonical UUID. It must never change: stored
// ids, and with them every inbox's memory, depend on it.
//
//nolint:gochecknoglobals // a constant that Go cannot express as one
var namespace = uuid.UUID{
	0x6c, 0x65, 0x61, 0x74, 0x2d, 0x67, 0x6f, 0x8e,
	0x9d, 0x1c, 0x5f, 0x42, 0x7a, 0x0b, 0x33, 0xd1,
}

// New returns a new UUIDv7 as canonical text. Ids made in one process ascend. The error is the
// operating system's, if it has no random bytes to give.
func New() (string, error) {
	u, err := uuid.NewV7()
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// Map returns the stored form of id, and whether id is the canonical text of
// that form. A canonical UUID (36 characters, lower case) is stored as it is;
// any other text as the UUIDv5 of a fixed namespace and the text.
func Map(id string) (u UUID, canonical bool) {
	if u, ok := parseCanonical(id); ok {
		return u, true
	}
	return uuid.NewSHA1(namespace, []byte(id)), false
}

// Child returns the id of the message that consumer makes out of the message called parent. name
// distinguishes several of them. The result must never change, like the namespace. The texts are
// therefore quoted in ASCII: which other characters print depends on the version of Unicode, and so
// of Go.
func Child(parent, consumer, name string) string {
	id, _ := Map("child " + strconv.QuoteToASCII(parent) + " " + strconv.QuoteToASCII(consumer) + " " + strconv.QuoteToASCII(name))
	return Text(id)
}

// Text returns the canonical text of u: 36 characters, lower case.
func Text(u UUID) string {
	return uuid.UUID(u).String()
}

// parseCanonical accepts only the one spelling that Text prints, so that text
// and stored form are one to one.
func parseCanonical(s string) (u UUID, ok bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, false
	}
	for _, c := range []byte(s) {
		if c >= 'A' && c <= 'F' {
			return UUID{}, false
		}
	}
	compact := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(compact)); err != nil {
		return UUID{}, false
	}
	return u, true
}
