package ids

import (
	"encoding/binary"
	"time"
)

// Time returns the time in u, to the millisecond, if u is of version 7 and of the variant that RFC
// 9562 describes. Both must be checked: in an id of another variant, a 7 in that place means
// nothing.
func Time(u UUID) (time.Time, bool) {
	if u[6]>>4 != 7 || u[8]>>6 != 2 {
		return time.Time{}, false
	}
	return time.UnixMilli(Millis(u)), true
}

// Millis returns the first 48 bits of u, which are milliseconds since 1970 in a
// UUID of version 7.
func Millis(u UUID) int64 {
	var wide [8]byte
	copy(wide[2:], u[:6])
	return int64(binary.BigEndian.Uint64(wide[:])) //nolint:gosec // 48 bits fit
}

// FromMillis returns the lowest UUID whose first 48 bits are ms. It has no version, and sorts below
// every UUID of version 7 of that time and above those of earlier times.
func FromMillis(ms int64) (u UUID) {
	var wide [8]byte
	binary.BigEndian.PutUint64(wide[:], uint64(min(max(ms, 0), MaxMillis)))
	copy(u[:6], wide[2:])
	return u
}

// MaxMillis is the last time that a UUID of version 7 can hold, in milliseconds
// since 1970: in the year 10889.
const MaxMillis = 1<<48 - 1
