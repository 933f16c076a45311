package testenv

import (
	"context"
	"errors"
	"syscall"
	"testing"
)

// KafkaServer is a real broker of a test's own, to be stopped, killed and started
// again. It is gone when the test ends. Its methods fail the test when they fail,
// so they are called from the test's goroutine.
type KafkaServer struct {
	// Brokers is the broker's address. It stays the same across restarts.
	Brokers []string

	tb     testing.TB
	server *server
}

// PrivateKafka starts a broker of the test's own. It takes some five seconds.
// Where there is no Java the test is skipped, in CI it fails.
func PrivateKafka(tb testing.TB) *KafkaServer {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	service, server, err := startKafka(ctx, privateBroker())
	if errors.Is(err, ErrUnavailable) && !inCI() {
		tb.Skipf("needs a real Kafka broker: %s", firstLine(err))
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := server.close(context.Background()); err != nil {
			tb.Errorf("stop the test's broker: %v", err)
		}
	})

	return &KafkaServer{Brokers: service.brokers(), tb: tb, server: server}
}

// Stop asks the broker to shut down and waits until it has exited.
func (s *KafkaServer) Stop() {
	s.tb.Helper()
	s.end(syscall.SIGTERM)
}

// Kill ends the broker with SIGKILL and waits until it has gone.
func (s *KafkaServer) Kill() {
	s.tb.Helper()
	s.end(syscall.SIGKILL)
}

func (s *KafkaServer) end(sig syscall.Signal) {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := s.server.proc.end(ctx, sig); err != nil {
		s.tb.Fatal(err)
	}
}

// Start starts the broker again, on the same port and data, and waits until it
// answers.
func (s *KafkaServer) Start() {
	s.tb.Helper()
	if err := s.server.start(context.Background()); err != nil {
		s.tb.Fatal(err)
	}
}
