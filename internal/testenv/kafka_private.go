package testenv

import (
	"syscall"
	"testing"
)

// KafkaServer is a real broker of a test's own, to be stopped, killed and started
// again. It is gone when the test ends. Its methods fail the test when they fail,
// so they are called from the test's goroutine.
type KafkaServer struct {
	private

	// Brokers is the broker's address. It stays the same across restarts.
	Brokers []string
}

// PrivateKafka starts a broker of the test's own. It takes some five seconds.
// Where there is no Java the test is skipped, in CI it fails.
func PrivateKafka(tb testing.TB) *KafkaServer {
	tb.Helper()
	s := startPrivate(tb, "a real Kafka broker", OwnKafka)

	return &KafkaServer{private: s, Brokers: []string{s.own.Address}}
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
