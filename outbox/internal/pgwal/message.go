package pgwal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// reader decodes a message. After its end every value is zero, and bad is set.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) int16() int {
	if b := r.take(2); b != nil {
		return int(int16(binary.BigEndian.Uint16(b))) //nolint:gosec // the same bits
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// text reads up to a zero byte.
func (r *reader) text() string {
	end := bytes.IndexByte(r.b, 0)
	if end < 0 {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:end])
	r.b = r.b[end+1:]
	return s
}

// decoder passes the changes of pgoutput, version 1, to a Handler.
type decoder struct {
	handler Handler
	values  []Value // of the last row
	began   uint64  // commit time of the current transaction: microseconds since 2000
}

// change passes one message on.
func (d *decoder) change(message []byte) error {
	r := &reader{b: message}
	var err error
	switch kind := r.byte(); kind {
	case 'B':
		_ = r.uint64() // LSN of the commit
		d.began = r.uint64()
		_ = r.uint32() // xid without its epoch
	case 'C':
		if r.take(1+8+8+8) != nil {
			err = d.handler.Commit()
		}
	case 'R':
		err = d.relation(r)
	case 'I':
		err = d.insert(r)
	case 'O', 'Y', 'U', 'D', 'T', 'M': // origin, type, other changes: none of them is a new row
		return nil
	default:
		return fmt.Errorf("%w: kind %q", ErrProtocol, kind)
	}
	if err == nil && r.bad {
		err = fmt.Errorf("%w: %.20x ends early", ErrProtocol, message)
	}
	return err
}

func (d *decoder) relation(r *reader) error {
	id := r.uint32()
	schema, table := r.text(), r.text()
	_ = r.byte() // replica identity
	n := r.int16()
	var columns []string
	for i := 0; i < n && !r.bad; i++ {
		_ = r.byte() // flags
		columns = append(columns, r.text())
		_ = r.take(4 + 4) // type, modifier
	}
	if r.bad {
		return nil // change returns the error
	}
	return d.handler.Relation(id, schema, table, columns)
}

func (d *decoder) insert(r *reader) error {
	id := r.uint32()
	if kind := r.byte(); kind != 'N' && !r.bad {
		return fmt.Errorf("%w: insert of %q", ErrProtocol, kind)
	}
	n := r.int16()
	d.values = d.values[:0]
	for i := 0; i < n && !r.bad; i++ {
		v := Value{Form: r.byte()}
		switch v.Form {
		case Null, Unchanged:
		case Text, Binary:
			if v.Data = r.take(int(int32(r.uint32()))); v.Data == nil { //nolint:gosec // the same bits
				r.bad = true
			}
		default:
			return fmt.Errorf("%w: value of form %q", ErrProtocol, v.Form)
		}
		d.values = append(d.values, v)
	}
	if r.bad {
		return nil // change returns the error
	}
	return d.handler.Insert(id, d.values)
}

// lag returns how long after its commit a transaction was sent, by the server's clock.
func (d *decoder) lag(sent uint64) time.Duration {
	if d.began == 0 || sent < d.began {
		return 0
	}
	return time.Duration(sent-d.began) * time.Microsecond //nolint:gosec // clocks are never 290 years off
}
