// Package keyhash holds the two hashes of leat: the shard of a record and the
// advisory lock of a key or an id.
package keyhash

import (
	"encoding/binary"
	"hash/fnv"
)

// Shards is the number of virtual shards that records are spread over.
const Shards = 64

// Shard returns the virtual shard of an ordering key, in 0…Shards-1: FNV-1a.
// Records without a key pass their id instead.
func Shard(key []byte) int16 {
	h := fnv.New32a()
	_, _ = h.Write(key) // a hash never fails
	return int16(h.Sum32() % Shards)
}

// Lock returns the advisory lock of parts, which start with a salt that keeps
// the lock spaces of the outbox and the inbox apart: in one shared space two
// transactions that only ever meet by a collision deadlock. Parts are length
// prefixed, so that ("ab","c") and ("a","bc") differ. The hash is 64-bit
// FNV-1a; a collision costs a wait (outbox) or a Busy (inbox), nothing else.
func Lock(parts ...string) int64 {
	h := fnv.New64a()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		_, _ = h.Write(n[:])
		_, _ = h.Write([]byte(p))
	}
	return int64(h.Sum64()) //nolint:gosec // all 64 bits are meant
}
