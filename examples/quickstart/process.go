package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// settings are the settings of a relay, and the options of the demo. A relay gets them in one
// environment variable, as JSON.
type settings struct {
	// On is the kind of database of outboxes and inboxes, Database the address of the one that the
	// relay reads.
	On       databaseName
	Database string
	// Brokers are Kafka's seed addresses. Topic carries the webhooks.
	Brokers []string
	Topic   string

	// Events is how many webhooks arrive, InFlight how many of them in the storm may be
	// without an effect yet.
	Events, InFlight int
	// Seed decides which transactions roll back.
	Seed uint64
	// Sabotage is the rule that is broken, if any.
	Sabotage sabotage
	// CrashAfter makes the first relay that has sent this many records pause before it settles them, so
	// that it can be killed there. 0 is never.
	CrashAfter int
	// Dir is the directory of the logs.
	Dir string
}

// envSettings passes a relay its settings.
const envSettings = "QUICKSTART_SETTINGS"

// settingsFromEnvironment returns false if there are none.
func settingsFromEnvironment() (s settings, ok bool, err error) {
	raw, ok := os.LookupEnv(envSettings)
	if ok {
		err = json.Unmarshal([]byte(raw), &s)
	}
	return s, ok, err
}

// lifeline returns a context that ends when the demo does, for whatever reason: the demo holds the
// other end of our standard input. No process outlives it.
func lifeline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the process at the latest
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx, cancel
}

// stopTimeout bounds how long a service may take to stop.
const stopTimeout = 20 * time.Second

// service is a part of the demo that runs until it is stopped: a relay in a separate process, or a
// goroutine.
type service struct {
	name   string
	stop   func() // asks it to end
	kill   func() error
	ended  chan struct{}
	err    error // valid once ended is closed
	ending atomic.Bool

	reports chan report // sent by a relay
}

// crew starts services and makes sure that all end. If one fails on its own, the demo ends.
type crew struct {
	dir  string
	fail context.CancelCauseFunc
	all  []*service
}

func (c *crew) logPath(name string) string { return filepath.Join(c.dir, name+".log") }

// log opens the log of a service.
func (c *crew) log(name string) (*os.File, error) {
	return os.OpenFile(c.logPath(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}

// watch waits for the end of s.
func (c *crew) watch(s *service, run func() error) *service {
	c.all = append(c.all, s)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		if s.err = run(); s.err != nil && !s.ending.Load() {
			c.fail(fmt.Errorf("%s failed: %w\n%s", s.name, s.err, c.logTail(s.name)))
		}
	}()
	return s
}

// serve runs a service in this process, with its own log.
func (c *crew) serve(ctx context.Context, name string, run func(ctx context.Context, log *slog.Logger) error) (*service, error) {
	log, err := c.log(name)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	return c.watch(&service{name: name, stop: stop, kill: func() error { return nil }}, func() error {
		defer func() { _ = log.Close() }()
		return run(ctx, slog.New(slog.NewTextHandler(log, nil)))
	}), nil
}

// relay runs a relay in a separate process: this program, executed again.
func (c *crew) relay(name string, s settings) (*service, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := c.log(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(self) //nolint:noctx,gosec // ourselves, stopped by signals: see stop
	cmd.Env = append(os.Environ(), envSettings+"="+string(raw))
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which then stops us
	_, err = cmd.StdinPipe()                              // the lifeline, closed by Wait
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &service{
		name: name, reports: make(chan report, 16), kill: cmd.Process.Kill,
		stop: func() { _ = cmd.Process.Signal(syscall.SIGTERM) }, // it may have ended already
	}
	return c.watch(r, func() error {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var said report
			if err := json.Unmarshal(lines.Bytes(), &said); err != nil {
				continue
			}
			select {
			case r.reports <- said:
			default: // its reader has gone
			}
		}
		return cmd.Wait()
	}), nil
}

// leads waits until a relay leads.
func (s *service) leads(ctx context.Context) error {
	for {
		select {
		case r := <-s.reports:
			if r.Leading {
				return nil
			}
		case <-s.ended:
			return fmt.Errorf("%s has ended: %w", s.name, errors.Join(s.err, context.Cause(ctx)))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// die ends a relay as a power cut would.
func (s *service) die() error {
	s.ending.Store(true)
	err := s.kill()
	<-s.ended
	return err
}

// end asks s to end and waits for it.
func (s *service) end() error {
	s.ending.Store(true)
	s.stop()
	select {
	case <-s.ended:
		return s.err
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s does not stop within %s", s.name, stopTimeout), s.kill())
	}
}

// stopAll ends everything that still runs. Errors no longer matter.
func (c *crew) stopAll() {
	var group sync.WaitGroup
	for _, s := range c.all {
		group.Go(func() { _ = s.end() })
	}
	group.Wait()
}

// logTail returns the last lines of a service's log.
func (c *crew) logTail(name string) string {
	const most = 15
	raw, err := os.ReadFile(c.logPath(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
