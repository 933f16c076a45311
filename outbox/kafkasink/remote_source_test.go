package kafkasink_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/rpc"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/outbox"
	"github.com/leat-go/leat/outbox/driver"
)

// The outbox of these tests lives in the memory of the test; relays in processes of
// their own reach it as they would reach a database.

// sessionServer is what those processes call.
type sessionServer struct {
	source driver.Source

	mu       sync.Mutex
	sessions []driver.Session
	pages    []driver.Page
}

// Request and Answer are those of every call; a call uses what it needs.
type Request struct {
	Session, Page, N int
	TTL              time.Duration
	Position         []byte
}

type Answer struct {
	Session, Page int
	Epoch         int64
	Slot          string
	Remaining     time.Duration
	Records       []outbox.Record
	Waiting       bool
	Round         int
	Position      []byte
}

func (s *sessionServer) session(r Request) driver.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[r.Session]
}

func (s *sessionServer) positioned(r Request) driver.Positioned {
	return s.session(r).(driver.Positioned) //nolint:forcetypeassert // memoutbox is
}

func (s *sessionServer) page(r Request) driver.Page {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Page == 0 {
		return driver.Page{} // asks where the session begins
	}
	return s.pages[r.Page-1]
}

func (s *sessionServer) Acquire(r Request, a *Answer) error {
	session, err := s.source.Acquire(context.Background(), r.TTL)
	if held, ok := errors.AsType[*driver.LeaseHeldError](err); ok {
		a.Remaining = held.Remaining
		return nil
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.Session, a.Epoch = len(s.sessions), session.Epoch()
	s.sessions = append(s.sessions, session)
	a.Slot = session.(driver.Positioned).SlotName() //nolint:forcetypeassert // memoutbox is
	return nil
}

func (s *sessionServer) Read(r Request, a *Answer) error {
	page, err := s.session(r).Read(context.Background(), r.N)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, page)
	a.Page, a.Records, a.Waiting, a.Round = len(s.pages), page.Records, page.Waiting, page.Round
	return nil
}

func (s *sessionServer) Advance(r Request, _ *Answer) error {
	return s.session(r).Advance(context.Background(), s.page(r), r.N)
}

func (s *sessionServer) Renew(r Request, _ *Answer) error {
	return s.session(r).Renew(context.Background(), r.TTL)
}

func (s *sessionServer) Release(r Request, _ *Answer) error {
	return s.session(r).Release(context.Background())
}

func (s *sessionServer) Position(r Request, a *Answer) (err error) {
	a.Position, err = s.positioned(r).Position(s.page(r), r.N)
	return err
}

func (s *sessionServer) Seek(r Request, _ *Answer) error {
	return s.positioned(r).Seek(context.Background(), r.Position)
}

// serve lets other processes read source at the address that it returns, until the
// test ends.
func serve(t *testing.T, source driver.Source) string {
	t.Helper()
	server := rpc.NewServer()
	require.NoError(t, server.RegisterName("Source", &sessionServer{source: source}))
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var mu sync.Mutex
	var conns []net.Conn
	var running sync.WaitGroup
	running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, conn)
			mu.Unlock()
			running.Go(func() { server.ServeConn(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return listener.Addr().String()
}

// remoteSource is the other end.
type remoteSource struct {
	client *rpc.Client
}

// call leaves the answer alone once ctx has ended: it may still be decoded.
func (s *remoteSource) call(ctx context.Context, method string, r Request) (Answer, error) {
	a := &Answer{}
	call := s.client.Go("Source."+method, r, a, make(chan *rpc.Call, 1))
	select {
	case <-call.Done:
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
	for _, known := range []error{driver.ErrLeaseLost, driver.ErrSourceUnusable} {
		if call.Error != nil && strings.Contains(call.Error.Error(), known.Error()) {
			return *a, fmt.Errorf("%w: %w", known, call.Error)
		}
	}
	return *a, call.Error
}

func (s *remoteSource) Check(context.Context) error { return nil }

func (s *remoteSource) Wakes(context.Context) <-chan struct{} { return nil }

func (s *remoteSource) Acquire(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	a, err := s.call(ctx, "Acquire", Request{TTL: ttl})
	if err == nil && a.Remaining > 0 {
		err = &driver.LeaseHeldError{Owner: "another", Remaining: a.Remaining}
	}
	if err != nil {
		return nil, err
	}
	return &remoteSession{remoteSource: s, acquired: a}, nil
}

type remoteSession struct {
	*remoteSource

	acquired Answer
}

func (s *remoteSession) Epoch() int64 { return s.acquired.Epoch }

func (s *remoteSession) SlotName() string { return s.acquired.Slot }

func (s *remoteSession) Read(ctx context.Context, limit int) (driver.Page, error) {
	a, err := s.call(ctx, "Read", Request{Session: s.acquired.Session, N: limit})
	return driver.Page{Records: a.Records, Waiting: a.Waiting, Round: a.Round, Cursor: a.Page}, err
}

func (s *remoteSession) of(p driver.Page, n int) Request {
	page, _ := p.Cursor.(int)
	return Request{Session: s.acquired.Session, Page: page, N: n}
}

func (s *remoteSession) Advance(ctx context.Context, p driver.Page, n int) error {
	_, err := s.call(ctx, "Advance", s.of(p, n))
	return err
}

func (s *remoteSession) Position(p driver.Page, n int) ([]byte, error) {
	a, err := s.call(context.Background(), "Position", s.of(p, n))
	return a.Position, err
}

func (s *remoteSession) Seek(ctx context.Context, position []byte) error {
	_, err := s.call(ctx, "Seek", Request{Session: s.acquired.Session, Position: position})
	return err
}

func (s *remoteSession) Renew(ctx context.Context, ttl time.Duration) error {
	_, err := s.call(ctx, "Renew", Request{Session: s.acquired.Session, TTL: ttl})
	return err
}

func (s *remoteSession) Release(ctx context.Context) error {
	_, err := s.call(ctx, "Release", Request{Session: s.acquired.Session})
	return err
}
