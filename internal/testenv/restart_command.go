package testenv

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
)

// envRestart names, to a process that is to ask for a restart, the address that it asks at.
const envRestart = "LEAT_TESTENV_RESTART"

// RestartCommand returns a command line that kills the broker with SIGKILL, starts it
// again and ends once it answers: what Watermill's suite for Pub/Subs asks for. Until
// the test ends, nothing else may stop or start the broker. The test binary must have
// called [Main].
func (s *KafkaServer) RestartCommand() []string {
	s.tb.Helper()
	listener, err := net.Listen("tcp", localAddress(0))
	if err != nil {
		s.tb.Fatal(err)
	}
	var asked sync.WaitGroup
	asked.Go(func() {
		for { // one restart at a time
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, errorText(s.own.restart()))
			_ = conn.Close()
		}
	})
	s.tb.Cleanup(func() {
		_ = listener.Close()
		asked.Wait()
	})
	program, err := os.Executable()
	if err != nil {
		s.tb.Fatal(err)
	}
	return []string{"env", envRestart + "=" + listener.Addr().String(), program}
}

// askForRestart does what the command of [KafkaServer.RestartCommand] is for, and does not
// return, if this process was started by it.
func askForRestart() {
	address := os.Getenv(envRestart)
	if address == "" {
		return
	}
	if err := restartAt(address); err != nil {
		_, _ = io.WriteString(os.Stderr, "testenv: restart: "+err.Error()+"\n")
		os.Exit(1)
	}
	os.Exit(0)
}

func restartAt(address string) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends
	failure, err := io.ReadAll(conn)
	if err == nil && len(failure) > 0 {
		err = errors.New(string(failure))
	}
	return err
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
