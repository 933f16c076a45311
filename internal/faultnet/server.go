package faultnet

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Server is a test's own server that misbehaves. Its methods are safe for concurrent use.
type Server struct {
	listener net.Listener
	end      context.CancelFunc
	serving  sync.WaitGroup
}

// Serve returns a server on 127.0.0.1 that calls speak for each connection. A connection is closed when speak
// returns. All of them are closed when ctx ends or Close is called. The error is that of listening.
func Serve(speak func(ctx context.Context, conn net.Conn)) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	s := &Server{listener: listener, end: end}
	s.serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.serving.Go(func() {
				defer func() { _ = conn.Close() }()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				speak(ctx, conn)
			})
		}
	})
	return s, nil
}

// Address is where the server listens, host:port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Close ends all connections and waits until they have ended. It returns the error of the listener.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.end()
	s.serving.Wait()
	return err
}

// Drip sends text over and over, a byte every few milliseconds, until the connection or ctx has ended. With an
// empty text it sends nothing.
func Drip(ctx context.Context, conn net.Conn, text string) {
	if text == "" {
		<-ctx.Done()
		return
	}
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		select {
		case <-pace.C:
		case <-ctx.Done():
			return
		}
	}
}

var errGoesOn = errors.New("faultnet: the call goes on without its context")

// Endless makes a call to a server that repeats the same text forever, a byte at a time, or sends
// nothing at all. It returns an error if the call outlives its context by seconds. Open returns the
// call.
func Endless(ctx context.Context, says string, open func(address string) (call func(ctx context.Context))) error {
	server, err := Serve(func(ctx context.Context, conn net.Conn) { Drip(ctx, conn, says) }) //nolint:contextcheck // Close ends it
	if err != nil {
		return err
	}
	call := open(server.Address())
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() { defer close(done); call(ctx) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		err = errGoesOn
	}
	return errors.Join(err, server.Close())
}
