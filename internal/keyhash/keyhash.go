// Package keyhash holds the two hashes of leat: the shard of a record and the
// advisory lock of a key or an id.
package keyhash

// Shards is the number of virtual shards that records are spread over.
const Shards = 64

// Shard returns the virtual shard of an ordering key, in 0…Shards-1: FNV-1a.
// Records without a key pass their id instead.
func Shard(key []byte) int16 {
	h := uint32(2166136261)
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	return int16(h % Shards)
}

// Lock returns the advisory lock of parts, which start with a salt that keeps
// the lock spaces of the outbox and the inbox apart: in one shared space two
// transactions that only ever meet by a collision deadlock. Parts are length
// prefixed, so that ("ab","c") and ("a","bc") differ. The hash is 64-bit
// FNV-1a; a collision costs a wait (outbox) or a Busy (inbox), nothing else.
func Lock(parts ...string) int64 {
	h := uint64(14695981039346656037)
	for _, p := range parts {
		n := uint64(len(p))
		for i := range 8 {
			h = (h ^ n>>(8*i)&0xff) * fnvPrime
		}
		for i := range len(p) {
			h = (h ^ uint64(p[i])) * fnvPrime
		}
	}
	return int64(h) //nolint:gosec // all 64 bits are meant
}

// fnvPrime is the factor of 64-bit FNV. Package hash/fnv would allocate a state, and a copy of each part.
const fnvPrime = 1099511628211
