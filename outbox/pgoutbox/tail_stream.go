package pgoutbox

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/topics"
	"github.com/leat-go/leat/outbox/internal/pglog"
	"github.com/leat-go/leat/outbox/internal/pgwal"
	"github.com/leat-go/leat/outbox/internal/pgwindow"
)

// tailStream is one connection of a tail, with the rows that have arrived and that the relay has
// not taken. It implements pgwal.Handler, called by its connection's goroutine, and pglog.Stream.
type tailStream struct {
	tail   *tail
	wal    *pgwal.Stream
	server string // the server that it comes from

	// Used by the session's reader.
	since int64     // transactions below it existed before the stream; 0 until it is queried
	askAt time.Time // when to check next whether it may be joined

	// Used by the connection.
	relation uint32 // oid of the log; 0 until it is known
	places   [tailColumns]int
	values   [colHeaders + 1][]byte
	decoder  decoder

	mu    sync.Mutex
	rows  []tailRow
	whole int                 // rows of transactions that have ended
	bytes int                 // approximate size of rows
	owed  map[int64]time.Time // rows that a window has found first and that have not arrived yet, and when it found them
	ended bool
	cause string // used by Close
}

// tailRow is a row that has arrived.
type tailRow struct {
	pglog.Row
	size int
}

func newTailStream(t *tail, wal *pgwal.Stream, server string) *tailStream {
	s := &tailStream{tail: t, wal: wal, server: server}
	s.decoder.begin(1, 0)
	return s
}

// The columns of the log that a row needs: those of page.sql, then its transaction.
const tailColumns = colHeaders + 2

func tailColumnNames() [tailColumns]string {
	return [...]string{
		colSeq: "seq", colCreatedAt: "created_at", colOccurredAt: "occurred_at", colID: "id", colShard: "shard",
		colIDText: "id_text", colTopic: "topic", colKey: "key", colType: "type", colPayload: "payload",
		colHeaders: "headers", colHeaders + 1: "xid",
	}
}

// Relation implements pgwal.Handler: it finds the log's columns by name.
func (s *tailStream) Relation(id uint32, schema, table string, columns []string) error {
	cfg := s.tail.log.source.ob.cfg
	if schema != cfg.Schema || table != cfg.Table {
		return nil
	}
	for i, name := range tailColumnNames() {
		if s.places[i] = slices.Index(columns, name); s.places[i] < 0 {
			return fmt.Errorf("%w: the publication is without column %q of the log", errTail, name)
		}
	}
	s.relation = id
	return nil
}

var errTailForm = errors.New("leat: no tail: a value of the log is not in its binary form")

// Insert implements pgwal.Handler.
func (s *tailStream) Insert(relation uint32, values []pgwal.Value) error {
	if relation != s.relation || relation == 0 {
		return nil // another table of the publication
	}
	var xid uint64
	for i, place := range s.places {
		if place >= len(values) {
			return errTailForm
		}
		v := values[place]
		if v.Form != pgwal.Null && v.Form != pgwal.Binary {
			return errTailForm
		}
		if i == len(s.values) {
			if len(v.Data) != 8 {
				return errTailForm
			}
			xid = binary.BigEndian.Uint64(v.Data)
			break
		}
		s.values[i] = v.Data
	}
	if h := s.values[colHeaders]; len(h) > 0 {
		s.values[colHeaders] = h[1:] // after the version of jsonb's binary format
	}
	if s.values[colPayload] == nil {
		return errTailForm // it is NOT NULL
	}
	s.decoder.records, s.decoder.size = s.decoder.records[:0], 0
	if err := s.decoder.binary(s.values[:]); err != nil {
		return err
	}
	row := pglog.Row{Record: s.decoder.records[0], XID: xid}
	if all := s.tail.log.source.cfg.Topics; all != nil && !topics.MatchAny(all, row.Topic) {
		return nil
	}
	return s.add(row, s.decoder.size)
}

// add queues a row, unless too many are waiting.
func (s *tailStream) add(row pglog.Row, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, tailRow{row, size})
	s.bytes += size
	delete(s.owed, row.Seq)
	if len(s.rows) > s.tail.cfg.MaxRows || s.bytes > maxPageBytes {
		return fmt.Errorf("%w: %d messages wait for the relay", pgwal.ErrBehind, len(s.rows))
	}
	return nil
}

// Commit implements pgwal.Handler: it wakes the relay.
func (s *tailStream) Commit() error {
	s.mu.Lock()
	news := s.whole < len(s.rows)
	s.whole = len(s.rows)
	s.mu.Unlock()
	if news {
		s.tail.log.source.listener.bell.ring()
	}
	return nil
}

// Take implements pglog.Stream. It does not start a transaction whose end has not arrived.
func (s *tailStream) Take(target pgwindow.Snapshot, limit int) ([]pglog.Row, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, false
	}
	var taken []pglog.Row
	n := 0
	for n < s.whole && len(taken) < limit {
		if !target.Sees(s.rows[n].XID) {
			taken = append(taken, s.rows[n].Row)
		}
		n++
	}
	s.whole -= n
	if n == len(s.rows) {
		s.rows, s.bytes = nil, 0
		return taken, true
	}
	for i := range n {
		s.bytes -= s.rows[i].size
	}
	s.rows = s.rows[n:]
	return taken, true
}

// owe records rows that a window has found at now and the stream has not delivered yet. It
// returns how many were found patience ago or earlier and have not arrived since.
func (s *tailStream) owe(missed []int64, now time.Time, patience time.Duration) (overdue int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.owed {
		if now.Sub(since) >= patience {
			overdue++
		}
	}
	if s.owed == nil {
		s.owed = make(map[int64]time.Time, len(missed))
	}
	for _, seq := range missed {
		s.owed[seq] = now
	}
	for i := range s.rows {
		delete(s.owed, s.rows[i].Seq)
	}
	return overdue
}

// Close implements pglog.Stream.
func (s *tailStream) Close(because string) {
	s.mu.Lock()
	s.cause = cmp.Or(s.cause, because)
	s.ended, s.rows, s.whole = true, nil, 0
	s.mu.Unlock()
	s.wal.Close()
}

// end records that the connection has ended with err, and returns why.
func (s *tailStream) end(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended, s.rows, s.whole = true, nil, 0
	if s.cause != "" {
		return fmt.Errorf("%w: %s", errTail, s.cause)
	}
	return err
}
