package sqllog

import (
	"database/sql"
	"strconv"
	"time"
)

// Other programs may insert rows that Enqueue would not write: SQLite takes any value in any
// column. An unreadable value must not stop the log: it is read as a different value, or as
// unknown.

// Micros is a column of microseconds since 1970, of a time in the years 1 to 9999. A text that
// holds such a time is read, too. Any other value is not Valid.
type Micros struct {
	Micros int64
	Valid  bool
	Odd    bool // differs from what Enqueue writes
}

var _ sql.Scanner = (*Micros)(nil)

// The first microsecond of the year 1 and the last of 9999: RFC 3339 can write these years.
const (
	firstMicro = -62_135_596_800_000_000
	lastMicro  = 253_402_300_799_999_999
)

// Scan implements sql.Scanner.
func (m *Micros) Scan(value any) error {
	*m = Micros{}
	switch v := value.(type) {
	case nil:
		return nil
	case int64:
		m.Micros, m.Valid = v, true
	case []byte:
		*m = microsOf(string(v))
	case string:
		*m = microsOf(v)
	case time.Time:
		*m = Micros{v.UnixMicro(), true, true}
	default:
		m.Odd = true
	}
	if m.Valid && (m.Micros < firstMicro || m.Micros > lastMicro) {
		*m = Micros{Odd: true}
	}
	return nil
}

// microsOf reads a text: some drivers return numbers as text, too.
func microsOf(text string) Micros {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Micros{n, true, false}
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", time.DateTime, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return Micros{t.UnixMicro(), true, true}
		}
	}
	return Micros{Odd: true}
}

// Time is the time in UTC, zero if it is not Valid or 0.
func (m *Micros) Time() time.Time {
	if !m.Valid || m.Micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(m.Micros).UTC()
}

// Shard is the column of shards. Only -1 marks a row that closes a gap. Any other row is a
// message; a value that is not a valid shard is read as 0.
type Shard struct {
	Shard int16
	Odd   bool // it was not a shard
}

var _ sql.Scanner = (*Shard)(nil)

// Scan implements sql.Scanner.
func (s *Shard) Scan(value any) error {
	*s = Shard{}
	var n sql.NullInt64
	err := n.Scan(value)
	switch {
	case err != nil || !n.Valid || n.Int64 < closedNumber || n.Int64 > maxShard:
		s.Odd = true
	default:
		s.Shard = int16(n.Int64)
	}
	return nil
}

// maxShard is the greatest SMALLINT.
const maxShard = 1<<15 - 1

// IsMessage reports whether the row is a message.
func (s *Shard) IsMessage() bool { return s.Shard != closedNumber }
