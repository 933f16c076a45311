package pgwal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/leat-go/leat/internal/clocks"
)

const (
	// statusEvery is how often our progress is reported to the server, so that it need not keep
	// what we have received.
	statusEvery = time.Second
	// askAfter is how long the server may be silent before we ask for a sign of life, and
	// silentAfter before the stream ends with ErrSilent.
	askAfter, silentAfter = 10 * time.Second, 30 * time.Second
	// maxMessage bounds one message, which is a row with all its values. A larger one ends the
	// stream before it is read.
	maxMessage = 16 << 20
)

// Config describes a Stream.
type Config struct {
	// Slot is the name of the temporary slot, which must be unique in the cluster.
	Slot string
	// Publication is the publication to follow.
	Publication string
	// MaxLag ends the stream if a transaction is sent more than this after its commit.
	MaxLag time.Duration
}

// Stream is a connection that follows a publication. One goroutine calls Run; Close may be
// called by any.
type Stream struct {
	cfg     Config
	conn    *pgconn.HijackedConn
	decoder decoder

	received atomic.Uint64 // LSN of what was received
	heard    atomic.Int64  // when something was last heard from the server, by clocks.Passed
	silent   atomic.Bool
	closing  sync.Once
	closed   chan struct{}
}

// Open creates the slot on conn, a connection for replication of one database, and starts the
// stream. It waits until all transactions of the cluster that were writing have ended. Every row
// that is committed after that comes. The stream owns conn, after an error as well.
func Open(ctx context.Context, conn *pgconn.PgConn, cfg Config) (*Stream, error) {
	_, err := conn.Exec(ctx, createSlot(cfg.Slot)).ReadAll()
	var hijacked *pgconn.HijackedConn
	if err == nil {
		hijacked, err = conn.Hijack()
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return nil, errors.Join(err, conn.Close(ctx))
	}
	s := &Stream{cfg: cfg, conn: hijacked, closed: make(chan struct{})}
	s.conn.Frontend.SetMaxBodyLen(maxMessage)
	s.hear()
	defer context.AfterFunc(ctx, s.Close)()
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Stream) start() error {
	s.conn.Frontend.Send(&pgproto3.Query{String: startReplication(s.cfg.Slot, s.cfg.Publication)})
	if err := s.conn.Frontend.Flush(); err != nil {
		return err
	}
	for {
		message, err := s.conn.Frontend.Receive()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.CopyBothResponse:
			return nil
		case *pgproto3.ErrorResponse:
			return pgconn.ErrorResponseToPgError(m)
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return fmt.Errorf("%w: %T in answer to START_REPLICATION", ErrProtocol, message)
		}
	}
}

// Close ends the stream at once; the server drops the slot. Run returns then.
func (s *Stream) Close() {
	s.closing.Do(func() {
		close(s.closed)
		_ = s.conn.Conn.Close() // the server notices
	})
}

// Run passes what arrives to h until the first error, which it returns, or until Close. It closes
// the stream.
func (s *Stream) Run(h Handler) error {
	var beats sync.WaitGroup
	beats.Go(s.beat)
	s.decoder.handler = h
	err := s.receive()
	select {
	case <-s.closed:
		err = ErrClosed
		if s.silent.Load() {
			err = ErrSilent
		}
	default:
	}
	s.Close()
	beats.Wait()
	return err
}

func (s *Stream) receive() error {
	for {
		message, err := s.conn.Frontend.Receive()
		if err != nil {
			return err
		}
		switch m := message.(type) {
		case *pgproto3.CopyData:
			if err := s.data(m.Data); err != nil {
				return err
			}
		case *pgproto3.ErrorResponse:
			return pgconn.ErrorResponseToPgError(m)
		case *pgproto3.CopyDone, *pgproto3.CommandComplete:
			return ErrEnded
		case *pgproto3.NoticeResponse, *pgproto3.ParameterStatus:
		default:
			return fmt.Errorf("%w: %T in the stream", ErrProtocol, message)
		}
	}
}

// data takes one message of the stream: a change, or a keepalive.
func (s *Stream) data(b []byte) error {
	s.hear()
	r := &reader{b: b}
	switch kind := r.byte(); kind {
	case 'w':
		_ = r.uint64() // LSN of the change
		end, sent := r.uint64(), r.uint64()
		if r.bad {
			return fmt.Errorf("%w: %.20x ends early", ErrProtocol, b)
		}
		if err := s.decoder.change(r.b); err != nil {
			return err
		}
		s.noteReceived(end)
		if lag := s.decoder.lag(sent); lag > s.cfg.MaxLag {
			return fmt.Errorf("%w: a transaction came %s after its commit", ErrBehind, lag.Round(time.Millisecond))
		}
	case 'k':
		end, _, asks := r.uint64(), r.uint64(), r.byte()
		if r.bad {
			return fmt.Errorf("%w: %.20x ends early", ErrProtocol, b)
		}
		s.noteReceived(end)
		if asks != 0 {
			return s.status(false)
		}
	default:
		return fmt.Errorf("%w: kind %q in the stream", ErrProtocol, kind)
	}
	return nil
}

func (s *Stream) noteReceived(lsn uint64) {
	s.received.Store(max(s.received.Load(), lsn))
}

// status reports our progress to the server, with the same value for all three positions: what
// was received is not needed again. A single write of a whole message is safe concurrently with
// others.
func (s *Stream) status(ask bool) error {
	lsn := s.received.Load()
	b := make([]byte, 0, 1+4+34)
	b = append(b, 'd')
	b = binary.BigEndian.AppendUint32(b, 4+34)
	b = append(b, 'r')
	for range 3 {
		b = binary.BigEndian.AppendUint64(b, lsn)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(time.Now().UnixMicro()-epoch)) //nolint:gosec // after 2000
	if ask {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	_, err := s.conn.Conn.Write(b)
	return err
}

// epoch is the year 2000 in microseconds since 1970.
const epoch = 946_684_800_000_000

// beat reports our progress to the server each second, and closes the stream if the server no
// longer answers.
func (s *Stream) beat() {
	tick := time.NewTicker(statusEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.closed:
			return
		case <-tick.C:
		}
		quiet := s.quiet()
		if quiet > silentAfter {
			s.silent.Store(true)
			s.Close()
			return
		}
		if err := s.status(quiet > askAfter); err != nil {
			s.Close()
			return
		}
	}
}

// hear records that the server was heard, and quiet returns how long ago that was.
func (s *Stream) hear()                { s.heard.Store(int64(clocks.Passed())) }
func (s *Stream) quiet() time.Duration { return clocks.Passed() - time.Duration(s.heard.Load()) }

// literal quotes s in the syntax of replication commands.
func literal(s string) string {
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
